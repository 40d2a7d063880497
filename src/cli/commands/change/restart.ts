// perdure restart: runs ended instances again from the start, as their next execution.

import { restarter } from "../../../client/bulk/control-many.ts";
import type { RestartOptions } from "../../../client/repair/restart.ts";
import { Store } from "../../../client/store.ts";
import { defined } from "../../../core/values/defined.ts";
import { addBulkOptions, runBulk, toEach, type BulkOptions } from "../../options/bulk.ts";
import { defineCommand, type Call, type Program } from "../../define-command.ts";
import { STATUSES } from "../../options/filter-options.ts";
import { runAgainWarning } from "../../options/run-again.ts";
import { addWhyOptions, type WhyOptions } from "../../options/why.ts";
import { parseValue, VALUE_FORMS } from "../../text/values.ts";

interface RestartCommandOptions extends BulkOptions, WhyOptions {
  readonly input?: string;
  readonly setVersion?: string;
}

export function addRestart(program: Program): void {
  const command = defineCommand<RestartCommandOptions>(
    program,
    {
      usage: "restart [ids...]",
      summary: "run ended instances again from the start",
      description:
        "Runs ended instances again from the start, as a new execution with an empty mailbox, key-values and " +
        "status. Earlier executions stay readable. Activities and steps that completed run again, with new " +
        'idempotency keys; the command lists them and asks first. To keep completed work, use "perdure retry".',
      examples: [
        ["perdure restart order-7", "restart one ended instance; asks first"],
        [
          `perdure restart order-7 --input '{"cents":250}' --reason "wrong price"`,
          "with another input",
        ],
        ["perdure restart order-7 --set-version 2.1.0", "with another version of its code"],
        ["perdure restart --status failed --name fulfil", "restart all failed ones; asks first"],
      ],
    },
    async (call) => {
      const options = await optionsOf(call);
      return runBulk(call, {
        verb: "restart",
        past: "restarted",
        isFinal: false,
        takes: [{ status: STATUSES.ended }],
        preview: async (session, selection) => ({
          warning: await runAgainWarning(session, selection),
        }),
        act: toEach(({ client }, id) => client.get(id).restart(options)),
        check: ({ client }, ids) =>
          restarter(new Store(client.provider, client.codec), options).check(ids),
      });
    },
  )
    .option("--input <value>", `another input: ${VALUE_FORMS}`)
    .option("--set-version <version>", "another version of the orchestration");
  addBulkOptions(addWhyOptions(command));
}

async function optionsOf({ cli, options }: Call<RestartCommandOptions>): Promise<RestartOptions> {
  const { reason = "restarted from the command line", by, setVersion: version } = options;
  const input = await parseValue(cli, "--input", options.input);
  return {
    reason,
    ...defined({ by, version }),
    ...(options.input === undefined ? {} : { input }),
  };
}
