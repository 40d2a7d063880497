// perdure counts: how many instances there are by status, by name, or by both.

import type { InstanceCount } from "../../../client/admin.ts";
import { CliError } from "../../exit-codes.ts";
import { defineCommand, type Program } from "../../define-command.ts";
import { Session } from "../../store/session.ts";
import { dim } from "../../text/screen.ts";
import { printTable } from "../../text/table.ts";

interface CountsCommandOptions {
  readonly by: string;
}

export function addCounts(program: Program): void {
  defineCommand<CountsCommandOptions>(
    program,
    {
      usage: "counts [store]",
      summary: "count instances by status and name",
      examples: [
        ["perdure counts", "by status and name"],
        ["perdure counts --by name", "by name"],
        ["perdure counts --by status --json", "in a script"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const by = byOf(options.by);
      await using session = await Session.open(call, { given: args[0], access: "read" });
      const counts = await session.client.counts({ by });
      if (options.json === true) {
        cli.out.document({ items: [...counts] });
        return 0;
      }
      if (counts.length === 0) {
        cli.out.line(dim("There are no instances."));
        return 0;
      }
      printTable<InstanceCount>(
        cli.out,
        [
          ...(by.includes("name") ? [{ title: "name", cell: nameOf }] : []),
          ...(by.includes("status") ? [{ title: "status", cell: statusOf }] : []),
          { title: "instances", cell: ({ count }) => count },
        ],
        counts,
      );
      return 0;
    },
  ).option("--by <members>", "status, name, or both, separated by a comma", "status,name");
}

const nameOf = ({ name = "" }: InstanceCount): string => name;
const statusOf = ({ status }: InstanceCount): string => status ?? "";

function byOf(text: string): readonly ("status" | "name")[] {
  return text.split(",").map((part) => {
    const word = part.trim();
    if (word === "status" || word === "name") return word;
    const got = JSON.stringify(part);
    throw new CliError("USAGE", `--by must be status, name or both; got ${got}.`);
  });
}
