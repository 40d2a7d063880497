// perdure fork: a new instance with the past of another, up to an event.

import { defineCommand, type Program } from "../define-command.ts";
import { green } from "../screen.ts";
import { Session } from "../session.ts";
import { wholeNumber } from "../numbers.ts";

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
      summary: "start a new instance with the past of another, up to an event",
      description:
        "Starts a new instance with the past of another, up to an event. What was open there is asked for anew. " +
        'The source is not touched. "perdure history" shows the numbers of the events.',
      examples: [
        ["perdure fork order-7 --before 12", "what happened before event 12 has happened"],
        ["perdure fork order-7 --before 12 --as order-7b", "with an id of its own"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const [id = ""] = args;
      await using session = await Session.open(call);
      const { before: beforeSequence, execution, as } = options;
      const handle = await session.client.fork(id, {
        beforeSequence,
        ...(execution === undefined ? {} : { execution }),
        ...(as === undefined ? {} : { id: as }),
      });
      if (options.json === true) cli.out.document({ id: handle.id, source: id, beforeSequence });
      else cli.out.line(green("✓ "), `${handle.id} goes on from before event ${beforeSequence}`);
      return 0;
    },
  )
    .requiredOption("--before <sequence>", "the first event that is not copied", wholeNumber(2))
    .option("--execution <number>", "another execution than the newest", wholeNumber(1))
    .option("--as <id>", "the new instance's id");
}
