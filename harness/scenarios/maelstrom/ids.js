// A node of Maelstrom for its workloads `echo` and `unique-ids`.
const readline = require('readline');

let me = '';
let count = 0;

function answer(to, body) {
  console.log(JSON.stringify({ src: me, dest: to, body }));
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const { src, body } = JSON.parse(line);
  const reply = { type: `${body.type}_ok`, in_reply_to: body.msg_id };
  if (body.type === 'init') me = body.node_id;
  else if (body.type === 'echo') reply.echo = body.echo;
  else if (body.type === 'generate') reply.id = `${me}-${Date.now()}-${(count += 1)}`;
  answer(src, reply);
});
