// perdure fork: starts a new instance with a copy of another instance's history up to an event.

import { defined } from "../../../core/values/defined.ts";
import { defineCommand, type Program } from "../../define-command.ts";
import { green } from "../../text/screen.ts";
import { Session } from "../../store/session.ts";
import { wholeNumber } from "../../options/numbers.ts";

interface ForkCommandOptions {
  readonly before: number;
  readonly execution?: number;
  readonly as?: string;
}

export function addFork(program: Program): void {
  defineCommand<ForkCommandOptions>(
    program,
    {
      usage: "fork <id>",
      summary: "start a new instance from a copy of another one's history",
      description:
        "Starts a new instance with a copy of another instance's history up to an event. Calls that were open at that " +
        'point are requested again. The source does not change. "perdure history" shows the event numbers.',
      examples: [
        ["perdure fork order-7 --before 12", "copy the events before event 12"],
        ["perdure fork order-7 --before 12 --as order-7b", "choose the new id"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const [id = ""] = args;
      await using session = await Session.open(call);
      const { before: beforeSequence, execution, as } = options;
      const handle = await session.client.fork(id, {
        beforeSequence,
        ...defined({ execution, id: as }),
      });
      if (options.json === true) cli.out.document({ id: handle.id, source: id, beforeSequence });
      else cli.out.line(green("✓ "), `${handle.id} continues before event ${beforeSequence}`);
      return 0;
    },
  )
    .requiredOption("--before <sequence>", "the first event that is not copied", wholeNumber(2))
    .option("--execution <number>", "fork this execution; default: the newest", wholeNumber(1))
    .option("--as <id>", "the id of the new instance");
}
