// perdure trim: deletes the first entries of a stream.

import { defineCommand, type Program } from "../../define-command.ts";
import { CliError } from "../../exit-codes.ts";
import { wholeNumber } from "../../options/numbers.ts";
import { confirm } from "../../options/question.ts";
import { Session } from "../../store/session.ts";
import { green } from "../../text/screen.ts";

interface TrimCommandOptions {
  readonly before: number;
  readonly yes?: true;
}

export function addTrim(program: Program): void {
  defineCommand<TrimCommandOptions>(
    program,
    {
      usage: "trim <id> <stream>",
      summary: "delete the first entries of a stream",
      examples: [
        ["perdure trim chat-7 tokens --before 1000", "delete the entries 0 to 999; asks first"],
        ["perdure trim chat-7 tokens --before 1000 --yes", "without a question"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const [id = "", name = ""] = args;
      const { before } = options;
      await using session = await Session.open(call, { access: "write" });
      const handle = session.client.get(id);
      const stream = (await handle.streams()).find((each) => each.name === name);
      if (stream === undefined) {
        throw new CliError("NOT_FOUND", `Instance "${id}" has no stream "${name}".`);
      }
      const until = Math.min(before, stream.next);
      const count = Math.max(until - stream.first, 0);
      const entries = count === 1 ? "1 entry" : `${count} entries`;
      const question = `Delete ${entries} of stream "${name}" of ${id}?`;
      if (count > 0) {
        await confirm(cli, question, { yes: options.yes === true });
        await handle.trim(name, { before });
      }
      if (options.json === true) cli.out.document({ id, stream: name, before, deleted: count });
      else cli.out.line(green("✓ "), `${entries} of stream "${name}" of ${id} deleted`);
      return 0;
    },
  )
    .requiredOption("--before <offset>", "the first offset that is kept", wholeNumber(0))
    .option("-y, --yes", "do not ask for confirmation");
}
