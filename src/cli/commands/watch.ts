// perdure watch: an instance, live, until its end.

import { instanceToHttp } from "../../server/wire/instance.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { tellEnding } from "../ending-text.ts";
import { describeWait } from "../instance-text.ts";
import { Interruption } from "../interrupt.ts";
import { dim } from "../screen.ts";
import { Session } from "../session.ts";
import { showStatus } from "../status-text.ts";
import { showTime } from "../times.ts";
import { showValue } from "../values.ts";

export function addWatch(program: Program): void {
  defineCommand(
    program,
    {
      usage: "watch <id>",
      summary: "show every change of an instance, until its end",
      description:
        "Shows every change of an instance as it comes. Ends with the instance: 0 if it completed, 6 if not. " +
        "Ctrl+C ends the watching and nothing else.",
      examples: [
        ["perdure watch order-7", "a line a change"],
        ["perdure watch order-7 --json | jq -c .status", "a JSON document a change, one a line"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const [id = ""] = args;
      await using session = await Session.open(call, { access: "follow" });
      using interruption = new Interruption();
      const states = session.client.get(id).watch();
      const stopped = interruption.came.then(() => ({ done: true, value: undefined }) as const);
      for (;;) {
        const next = await Promise.race([states.next(), stopped]);
        if (interruption.code !== undefined) return interruption.code;
        if (next.done === true) return 0;
        const { value: info } = next;
        if (options.json === true) cli.out.record(instanceToHttp(info, session.codec));
        else {
          const shown = info.customStatus === undefined ? "" : `  ${showValue(info.customStatus)}`;
          const output = info.status === "completed" ? `  ${showValue(info.output)}` : "";
          const run = info.execution === 1 ? "" : dim(`  execution ${info.execution}`);
          cli.out.line(dim(showTime(info.updatedAt)), "  ", showStatus(info), run, shown, output);
          for (const wait of info.waitingFor) {
            cli.out.line(...describeWait(wait, session.provider.now()));
          }
        }
        if (info.error === undefined) continue;
        if (options.json !== true) tellEnding(cli.out, id, info.error);
        return 6;
      }
    },
  );
}
