// perdure kv: shows the key-values of an instance.

import { toHttp } from "../../../server/views/values.ts";
import { defineCommand, type Program } from "../../define-command.ts";
import { CliError } from "../../exit-codes.ts";
import { dim } from "../../text/screen.ts";
import { Session } from "../../store/session.ts";
import { printTable } from "../../text/table.ts";
import { showValue } from "../../text/values.ts";

export function addKv(program: Program): void {
  defineCommand(
    program,
    {
      usage: "kv <id> [key]",
      summary: "show the key-values of an instance",
      examples: [
        ["perdure kv actor-1", "show all key-values"],
        ["perdure kv actor-1 balance --json", "show one value as JSON"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const [id = "", key] = args;
      await using session = await Session.open(call, { access: "read" });
      const handle = session.client.get(id);
      await handle.describe(); // throws INSTANCE_NOT_FOUND if the instance does not exist
      const entries = await handle.kv.entries();
      const found = key === undefined ? entries : entries.filter(([name]) => name === key);
      if (key !== undefined && found.length === 0) {
        throw new CliError("NOT_FOUND", `Instance "${id}" has no key "${key}".`);
      }
      if (options.json === true) {
        const shown = found.map(([name, value]) => ({ key: name, value: toHttp(value) }));
        cli.out.document(key === undefined ? { id, entries: shown } : { id, ...shown[0] });
      } else if (key !== undefined) {
        cli.out.lines(showValue(found[0]?.[1], Infinity));
      } else if (entries.length === 0) {
        cli.out.line(dim(`${id} has no key-values.`));
      } else {
        printTable(
          cli.out,
          [
            { title: "key", cell: ([name]) => name },
            { title: "value", cell: ([, value]) => showValue(value) },
          ],
          entries,
        );
      }
      return 0;
    },
  );
}
