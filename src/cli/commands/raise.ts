// perdure raise: sends an event to an instance.

import type { Handle } from "../../client/handle.ts";
import type { InstanceInfo } from "../../client/instance-info.ts";
import { whyNotAwaited } from "../../core/awaited-event.ts";
import { isPerdureError } from "../../core/errors.ts";
import { member } from "../../server/wire/instance.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { green, yellow } from "../screen.ts";
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
      description:
        "Sends an event to an instance. An event that the instance does not wait for is kept until the code waits " +
        "for it; a warning on standard error then says what the instance waits for.",
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
      const before = await found(session.client.get(id)); // AE2
      await session.client.raise(id, event, data, {
        ifMissing: options.keep === true ? "keep" : "fail",
        ...(requestId === undefined ? {} : { requestId }),
      });
      const warning = before === undefined ? undefined : whyNotAwaited(before, event);
      const kept = before === undefined ? `; it is kept until ${id} is started` : "";
      if (options.json === true) cli.out.document({ id, event, ...member("warning", warning) });
      else {
        cli.out.line(green("✓ "), `${event} sent to ${id}${kept}`);
        if (warning !== undefined) cli.err.line(yellow(`! ${warning} perdure get ${id} shows it.`));
      }
      return 0;
    },
  )
    .option("--data <value>", `what the event carries: ${VALUE_FORMS}`)
    .option("--request-id <id>", "a repeated command with the same id sends once")
    .option("--keep", "keep it for an instance that does not exist yet");
}

/** Undefined: there is no such instance. */
async function found(handle: Handle): Promise<InstanceInfo | undefined> {
  try {
    return await handle.describe();
  } catch (error) {
    if (isPerdureError(error, "INSTANCE_NOT_FOUND")) return undefined;
    throw error;
  }
}
