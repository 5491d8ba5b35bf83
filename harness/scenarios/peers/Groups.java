/* A member of a JGroups cluster that is its own adapter: what is submitted is multicast in the total order of SEQUENCER,
   deliveries and views become NOTEs. javac -cp /usr/share/java/jgroups.jar Groups.java */

import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.jgroups.Address;
import org.jgroups.JChannel;
import org.jgroups.Message;
import org.jgroups.ReceiverAdapter;
import org.jgroups.View;
import org.jgroups.util.UUID;

public class Groups {
    static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    public static void main(String[] words) throws Exception {
        String me = System.getenv("TUTTI_ME");
        long life = Long.parseLong(System.getenv("TUTTI_INCARNATION"));
        long seq = life - 1 << 32; // numbers are used once, also over restarts
        JChannel channel = new JChannel(words[0]);
        channel.setName(me);
        channel.setAddressGenerator(() -> new UUID(life, Long.parseLong(me))); // the least of those who begin coordinates: n1
        channel.setReceiver(new ReceiverAdapter() {
            public void receive(Message message) { // origin, number and data
                String[] said = new String(message.getBuffer()).split(" ");
                say("note delivered about=" + said[0] + " seq=" + said[1] + " data=" + said[2]);
            }

            public void viewAccepted(View view) {
                StringBuilder members = new StringBuilder();
                for (Address member : view.getMembers())
                    if (channel.getName(member) != null) // not an earlier life of a member
                        members.append(members.length() == 0 ? "" : ",").append(channel.getName(member));
                say("note view seq=" + view.getVid().getId() + " peers=" + members);
            }
        });
        channel.connect("tutti");
        while (channel.getView().size() < Integer.parseInt(words[1]))
            Thread.sleep(10);
        say("ready");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = input.readLine()) != null;) {
            String[] said = line.split(" "); // submit NUMBER TO DATA
            seq++;
            say("note sent about=" + me + " seq=" + seq + " peers=" + said[2] + " values=" + said[1]);
            channel.send(null, null, (me + " " + seq + " " + said[3]).getBytes());
        }
    }
}
