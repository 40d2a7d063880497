// perdure terminate: ends instances at once, without running their code.

import { addBulkOptions, runBulk, type BulkOptions } from "../bulk.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { STATUSES } from "../filter-options.ts";
import { addWhyOptions, whyOf, type WhyOptions } from "../why.ts";

export function addTerminate(program: Program): void {
  const command = defineCommand<BulkOptions & WhyOptions>(
    program,
    {
      usage: "terminate [ids...]",
      summary: "end instances at once, without running their code",
      description:
        "Ends instances at once, without running their code: no compensation, no clean-up. Their children are " +
        'asked to cancel. "perdure cancel" is the gentle way.',
      examples: [
        ["perdure terminate order-7 --yes", "one instance, without a question"],
        ["perdure terminate --blocked --name fulfil", "all blocked ones of an orchestration"],
      ],
    },
    (call) => {
      const why = whyOf(call.options, "terminated from the command line");
      return runBulk(call, {
        verb: "terminate",
        past: "terminated",
        isFinal: true,
        takes: [{ status: STATUSES.live }],
        act: ({ client }, id) => client.get(id).terminate(why),
      });
    },
  );
  addBulkOptions(addWhyOptions(command));
}
