// Gossip: what a client at any node says comes to the clients of all, each life's words in their order. Words are shouted
// by UDP multicast; now and then every node tells how much it has, and whoever has more shouts that again. A node lets
// clients in once it has all that another one has.
const dgram = require('dgram');
const net = require('net');

const GROUP = '239.1.1.1';
const PORT = 7001;
const AGAIN_MS = 50;
const BATCH = 8;
const here = process.env.TUTTI_ADDRESS;
const me = `${process.env.TUTTI_ME}.${process.env.TUTTI_INCARNATION}`;
const words = new Map([[me, []]]); // of each life, in order
const clients = new Set();
const socket = dgram.createSocket({ type: 'udp4', reuseAddr: true });

function shout(what) {
  socket.send(JSON.stringify(what), PORT, GROUP);
}

function take(life, number, word) {
  if (!words.has(life)) words.set(life, []);
  const list = words.get(life);
  if (number !== list.length) return; // known, or one before it is missing: it comes again
  list.push(word);
  for (const client of clients) client.write(`${life} ${number} ${word}\n`);
}

function help(have) {
  if (!door.listening && Object.entries(have).every(([life, count]) => count <= (words.get(life) ?? []).length)) {
    door.listen(7000, here);
  }
  for (const [life, list] of words) {
    const from = have[life] ?? 0;
    list.slice(from, from + BATCH).forEach((word, number) => shout({ say: [life, from + number, word] }));
  }
}

function tell() {
  shout({ have: Object.fromEntries([...words].map(([life, list]) => [life, list.length])) });
  setTimeout(tell, AGAIN_MS * (1 + Math.random()));
}

socket.on('message', (bytes) => {
  const { say, have } = JSON.parse(bytes);
  if (say) take(...say);
  else help(have);
});
socket.bind(PORT, () => {
  socket.setMulticastInterface(here);
  socket.setMulticastLoopback(false);
  socket.addMembership(GROUP, here);
  tell();
});

const door = net.createServer((client) => {
  let rest = '';
  clients.add(client);
  client.on('close', () => clients.delete(client));
  client.on('data', (bytes) => {
    const lines = (rest + bytes).split('\n');
    rest = lines.pop();
    for (const word of lines) {
      const number = words.get(me).length;
      shout({ say: [me, number, word] });
      take(me, number, word);
    }
  });
});
