// perdure list: lists matching instances, one page at a time.

import type { InstanceSummary } from "../../../client/inspect/instance-info.ts";
import type { ListOrder } from "../../../core/provider/index.ts";
import { defined } from "../../../core/values/defined.ts";
import { maskAddress } from "../../../core/values/secrets.ts";
import { summaryToHttp } from "../../../server/wire/instance.ts";
import { defineCommand, type Program } from "../../define-command.ts";
import { looksLikeAddress } from "../../store/store-address.ts";
import { addFilterOptions, filterOf, type FilterOptions } from "../../options/filter-options.ts";
import { wholeNumber } from "../../options/numbers.ts";
import { dim } from "../../text/screen.ts";
import { Session } from "../../store/session.ts";
import { showStatus } from "../../text/status-text.ts";
import { printTable } from "../../text/table.ts";
import { showAge } from "../../text/times.ts";
import { CliError } from "../../exit-codes.ts";

interface ListCommandOptions extends FilterOptions {
  readonly limit: number;
  readonly order: string;
  readonly orderBy: string;
  readonly cursor?: string;
  readonly count?: true;
}

export function addList(program: Program): void {
  const command = defineCommand<ListCommandOptions>(
    program,
    {
      usage: "list [store]",
      summary: "list instances",
      examples: [
        ["perdure list", "the newest instances in the config's store"],
        ["perdure list sqlite:./orders.db --status failed,cancelled", "in a SQLite file"],
        ["perdure list --name fulfil --attribute customer=42 --created-after 2h", "filtered"],
        ["perdure list --where 'cents>=1000' --text order --order-by completed", "searched"],
        ["perdure list --blocked --json | jq -r '.items[].id'", "in a script"],
        ["perdure list --status live --count", "only count them"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const order = orderOf(options.order);
      const orderBy = orderByOf(options.orderBy);
      const filter = filterOf(options);
      await using session = await Session.open(call, {
        given: addressOf(args[0]),
        access: "read",
      });
      const { client, provider } = session;
      if (options.count === true) {
        const count = await client.count(filter);
        if (options.json === true) cli.out.document({ count });
        else cli.out.line(count);
        return 0;
      }
      const { limit, cursor } = options;
      const paging = { limit, order, orderBy, ...defined({ cursor }) };
      const page = await client.list(filter, paging);
      if (options.json === true) {
        const items = page.items.map(summaryToHttp);
        cli.out.document({ items, ...defined({ cursor: page.cursor }) });
        return 0;
      }
      if (page.items.length === 0) {
        cli.out.line(dim("No instances match."));
        return 0;
      }
      printInstances(cli.out, page.items, provider.now());
      if (page.cursor !== undefined) cli.out.line(dim(`Next page: --cursor ${page.cursor}`));
      return 0;
    },
  )
    .option("--limit <number>", "instances per page", wholeNumber(1, 1_000), 50)
    .option("--order <order>", "newest or oldest first", "newest")
    .option("--order-by <time>", "created, updated or completed", "created")
    .option("--cursor <cursor>", "continue after the previous page")
    .option("--count", "print only the number of matches");
  addFilterOptions(command);
}

function printInstances(
  screen: Parameters<typeof printTable>[0],
  items: readonly InstanceSummary[],
  now: number,
): void {
  printTable<InstanceSummary>(
    screen,
    [
      { title: "id", cell: ({ id }) => id },
      { title: "name", cell: ({ name }) => name },
      { title: "version", cell: ({ version = "" }) => version },
      { title: "status", cell: showStatus, cut: false },
      { title: "run", cell: ({ execution }) => execution },
      { title: "created", cell: ({ createdAt }) => showAge(createdAt, now), cut: false },
      { title: "updated", cell: ({ updatedAt }) => showAge(updatedAt, now), cut: false },
    ],
    items,
  );
}

function addressOf(word: string | undefined): string | undefined {
  if (word === undefined || looksLikeAddress(word)) return word;
  throw new CliError(
    "USAGE",
    `"${maskAddress(word)}" is not the address of a store. To show an instance, use: perdure get <id>`,
  );
}

function orderOf(word: string): "newest" | "oldest" {
  if (word === "newest" || word === "oldest") return word;
  throw new CliError("USAGE", `--order must be newest or oldest; got ${JSON.stringify(word)}.`);
}

function orderByOf(word: string): ListOrder {
  if (word === "created" || word === "updated" || word === "completed") return `${word}At`;
  const got = JSON.stringify(word);
  throw new CliError("USAGE", `--order-by must be created, updated or completed; got ${got}.`);
}
