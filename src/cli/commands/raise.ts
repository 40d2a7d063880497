// perdure raise: sends an event to an instance.

import { defineCommand, type Program } from "../define-command.ts";
import { green } from "../screen.ts";
import { Session } from "../session.ts";
import { parseValue, VALUE_FORMS } from "../values.ts";

interface RaiseCommandOptions {
  readonly data?: string;
  readonly requestId?: string;
  readonly keep?: true;
}

export function addRaise(program: Program): void {
  defineCommand<RaiseCommandOptions>(
    program,
    {
      usage: "raise <id> <event>",
      summary: "send an event to an instance",
      examples: [
        [`perdure raise order-7 approval --data '{"by":"ada"}'`, "with data"],
        ["perdure raise order-7 approval --data @approval.json", "from a file"],
        ["perdure raise order-8 approval --keep", "also if it does not exist yet"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const [id = "", event = ""] = args;
      const data = await parseValue(cli, "--data", options.data);
      await using session = await Session.open(call);
      const { requestId } = options;
      await session.client.raise(id, event, data, {
        ifMissing: options.keep === true ? "keep" : "fail",
        ...(requestId === undefined ? {} : { requestId }),
      });
      if (options.json === true) cli.out.document({ id, event });
      else cli.out.line(green("✓ "), `${event} sent to ${id}`);
      return 0;
    },
  )
    .option("--data <value>", `what the event carries: ${VALUE_FORMS}`)
    .option("--request-id <id>", "a repeated command with the same id sends once")
    .option("--keep", "keep it for an instance that does not exist yet");
}
