// perdure complete: completes a callback, or an activity that completes later, by its token or its address.

import { NonRetryableError } from "../../../core/errors/retry-errors.ts";
import { defineCommand, type Program } from "../../define-command.ts";
import { CliError } from "../../exit-codes.ts";
import { Session } from "../../store/session.ts";
import { green } from "../../text/screen.ts";
import { parseValue, VALUE_FORMS } from "../../text/values.ts";

interface CompleteCommandOptions {
  readonly value?: string;
  readonly fail?: string;
  /** False: --no-retry. */
  readonly retry: boolean;
}

export function addComplete(program: Program): void {
  defineCommand<CompleteCommandOptions>(
    program,
    {
      usage: "complete <token>",
      summary: "complete a callback, or an activity that completes later",
      description:
        "Completes a callback, or an activity that completes later, by its token or its address. A repeated command " +
        "changes nothing. The config must have the secrets of the callbacks. With --fail, the attempt of an activity " +
        "fails, and its retry policy decides what follows.",
      examples: [
        [`perdure complete v1.WyJj… --value '{"ok":true}'`, "send a value"],
        [
          "perdure complete https://example.com/callbacks/v1.WyJj…",
          "by its address, without a value",
        ],
        [`perdure complete v1.WyJ0… --fail "disk full"`, "report a failed attempt"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      if (options.value !== undefined && options.fail !== undefined) {
        throw new CliError("USAGE", "Pass --value or --fail, not both.");
      }
      if (!options.retry && options.fail === undefined) {
        throw new CliError("USAGE", "--no-retry has a meaning only with --fail.");
      }
      const token = tokenOf(args[0] ?? "");
      const value = await parseValue(cli, "--value", options.value);
      await using session = await Session.open(call);
      const { client } = session;
      const { kind, name, instanceId: id } = await client.checkToken(token);
      const status =
        options.fail === undefined
          ? await client.complete(token, value)
          : await failed(client.fail(token, errorOf(options.fail, options.retry)));
      if (options.json === true) cli.out.document({ id, kind, name, status });
      else cli.out.line(green("✓ "), `${kind} ${name} of ${id}: ${WORDS[status]}`);
      return 0;
    },
  )
    .option("--value <value>", `the value: ${VALUE_FORMS}`)
    .option("--fail <message>", "report a failed attempt of an activity, with this message")
    .option("--no-retry", "with --fail: no attempt follows, whatever the retry policy says");
}

const WORDS = {
  completed: "completed",
  accepted: "received; the code that waits for it checks the value",
  failed: "the failure was recorded",
};

async function failed(reported: Promise<void>): Promise<"failed"> {
  await reported;
  return "failed";
}

function errorOf(message: string, retry: boolean): Error {
  return retry ? new Error(message) : new NonRetryableError(message);
}

/** The token of an address is its last part. */
function tokenOf(given: string): string {
  const url = URL.parse(given);
  return url === null ? given : (url.pathname.split("/").at(-1) ?? "");
}
