// perdure watch: prints every change of an instance until it ends.

import { instanceToHttp } from "../../../server/wire/instance.ts";
import { defineCommand, type Program } from "../../define-command.ts";
import { printEnding } from "../../text/ending-text.ts";
import { describeWait } from "../../text/instance-text.ts";
import { Interruption } from "../../interrupt.ts";
import { dim } from "../../text/screen.ts";
import { Session } from "../../store/session.ts";
import { showStatus } from "../../text/status-text.ts";
import { showTime } from "../../text/times.ts";
import { showValue } from "../../text/values.ts";

export function addWatch(program: Program): void {
  defineCommand(
    program,
    {
      usage: "watch <id>",
      summary: "show every change of an instance, until its end",
      description:
        "Shows every change of an instance when it happens. Exits when the instance ends: with 0 if it completed, " +
        "otherwise with 6. Ctrl+C stops watching; it does not affect the instance.",
      examples: [
        ["perdure watch order-7", "one line per change"],
        ["perdure watch order-7 --json | jq -c .status", "one line of JSON per change"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const [id = ""] = args;
      await using session = await Session.open(call, { access: "follow" });
      using interruption = new Interruption();
      const states = session.client.get(id).watch();
      const stopped = interruption.received.then(() => ({ done: true, value: undefined }) as const);
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
        if (options.json !== true) printEnding(cli.out, id, info.error);
        return 6;
      }
    },
  );
}
