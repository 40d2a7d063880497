// perdure raise: sends an event to an instance.

import type { Handle } from "../../../client/handle.ts";
import type { InstanceInfo } from "../../../client/inspect/instance-info.ts";
import { whyNotAwaited } from "../../../core/history/awaited-event.ts";
import { isPerdureError } from "../../../core/errors/errors.ts";
import type { Duration } from "../../../core/time/duration.ts";
import { defined } from "../../../core/values/defined.ts";
import { member } from "../../../server/wire/instance.ts";
import { defineCommand, type Program } from "../../define-command.ts";
import { green, yellow } from "../../text/screen.ts";
import { Session } from "../../store/session.ts";
import { parseValue, VALUE_FORMS } from "../../text/values.ts";

interface RaiseCommandOptions {
  readonly data?: string;
  readonly requestId?: string;
  readonly keep?: true;
  readonly keepFor?: string;
}

export function addRaise(program: Program): void {
  defineCommand<RaiseCommandOptions>(
    program,
    {
      usage: "raise <id> <event>",
      summary: "send an event to an instance",
      description:
        "Sends an event to an instance. If the instance does not wait for the event, the event stays in its mailbox " +
        "until the code waits for it. A warning on standard error then names what the instance waits for.",
      examples: [
        [`perdure raise order-7 approval --data '{"by":"ada"}'`, "send data with the event"],
        ["perdure raise order-7 approval --data @approval.json", "read the data from a file"],
        ["perdure raise order-8 approval --keep", "even if order-8 does not exist yet"],
        ["perdure raise order-8 approval --keep --keep-for 30d", "wait up to 30 days for it"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const [id = "", event = ""] = args;
      const data = await parseValue(cli, "--data", options.data);
      await using session = await Session.open(call);
      const { requestId } = options;
      const keepFor = options.keepFor as Duration | undefined; // raise validates any text
      const before = await describeIfFound(session.client.get(id)); // awaited-event.1
      await session.client.raise(id, event, data, {
        ifMissing: options.keep === true ? "keep" : "fail",
        ...defined({ requestId, keepFor }),
      });
      const warning = before === undefined ? undefined : whyNotAwaited(before, event);
      const note = before === undefined ? `; ${id} will receive it when it starts` : "";
      if (options.json === true) cli.out.document({ id, event, ...member("warning", warning) });
      else {
        cli.out.line(green("✓ "), `${event} sent to ${id}${note}`);
        if (warning !== undefined) cli.err.line(yellow(`! ${warning} See: perdure get ${id}`));
      }
      return 0;
    },
  )
    .option("--data <value>", `the data of the event: ${VALUE_FORMS}`)
    .option("--request-id <id>", "idempotency key: repeated commands with this id send one event")
    .option("--keep", "if the instance does not exist, keep the event until it starts")
    .option("--keep-for <duration>", "with --keep: how long to keep it, such as 12h or 30d");
}

/** Undefined: the instance does not exist. */
async function describeIfFound(handle: Handle): Promise<InstanceInfo | undefined> {
  try {
    return await handle.describe();
  } catch (error) {
    if (isPerdureError(error, "INSTANCE_NOT_FOUND")) return undefined;
    throw error;
  }
}
