// perdure kept: lists events that wait for instances that do not exist yet, and expired ones.

import type { KeptEvent } from "../../../client/inspect/kept.ts";
import { defined } from "../../../core/values/defined.ts";
import { keptToHttp } from "../../../server/wire/store.ts";
import { defineCommand, type Program } from "../../define-command.ts";
import { wholeNumber } from "../../options/numbers.ts";
import { Session } from "../../store/session.ts";
import { dim, yellow } from "../../text/screen.ts";
import { printTable } from "../../text/table.ts";
import { showAge } from "../../text/times.ts";
import { showValue } from "../../text/values.ts";

interface KeptCommandOptions {
  readonly id?: string;
  readonly limit: number;
  readonly cursor?: string;
}

export function addKept(program: Program): void {
  defineCommand<KeptCommandOptions>(
    program,
    {
      usage: "kept [store]",
      summary: "list events that wait for instances that do not exist yet",
      description:
        "Lists the events that were raised with ifMissing: keep for instances that do not exist yet, oldest first. " +
        "An event that expired stays listed for seven days, without its data.",
      examples: [
        ["perdure kept", "every kept event"],
        ["perdure kept --id order-8", "the events for one instance id"],
        ["perdure kept --json | jq '.items[] | select(.expired)'", "only the expired ones"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      await using session = await Session.open(call, { given: args[0], access: "read" });
      const { id, limit, cursor } = options;
      const page = await session.client.kept({ limit, ...defined({ id, cursor }) });
      if (options.json === true) {
        cli.out.document(keptToHttp(page));
        return 0;
      }
      if (page.items.length === 0) {
        cli.out.line(dim("No events are kept."));
        return 0;
      }
      const now = session.provider.now();
      printTable<KeptEvent>(
        cli.out,
        [
          { title: "id", cell: (kept) => kept.id },
          { title: "event", cell: ({ event }) => event },
          { title: "raised", cell: ({ createdAt }) => showAge(createdAt, now), cut: false },
          { title: "expires", cell: showExpiry, cut: false },
          { title: "data", cell: showData },
        ],
        page.items,
      );
      if (page.cursor !== undefined) cli.out.line(dim(`Next page: --cursor ${page.cursor}`));
      return 0;
    },
  )
    .option("--id <id>", "only events for this instance id")
    .option("--limit <number>", "events per page", wholeNumber(1, 1_000), 50)
    .option("--cursor <cursor>", "continue after the previous page");
}

function showExpiry({ expired, expiresAt }: KeptEvent) {
  return expired ? yellow("expired") : expiresAt.toISOString();
}

function showData({ data, unreadable }: KeptEvent) {
  if (unreadable !== undefined) return yellow("unreadable");
  return data === undefined ? "" : showValue(data);
}
