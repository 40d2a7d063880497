// perdure ask: sends a request to an instance and prints its answer.
//   - A refusal exits with 12. A timeout exits with 7 and the reason; the request stays sent.

import { RequestError } from "../../../core/errors/request-error.ts";
import { failureHeadline } from "../../../core/telemetry/failure-headline.ts";
import { defined } from "../../../core/values/defined.ts";
import { toHttp } from "../../../server/views/values.ts";
import { member } from "../../../server/wire/instance.ts";
import { defineCommand, type Program } from "../../define-command.ts";
import { Interruption } from "../../interrupt.ts";
import { Session } from "../../store/session.ts";
import { red } from "../../text/screen.ts";
import { parseTimeSpan } from "../../text/times.ts";
import { parseValue, showValue, VALUE_FORMS } from "../../text/values.ts";

interface AskCommandOptions {
  readonly timeout?: string;
  readonly requestId?: string;
}

export function addAsk(program: Program): void {
  defineCommand<AskCommandOptions>(
    program,
    {
      usage: "ask <id> <request> [input]",
      summary: "send a request to an instance and print its answer",
      description:
        `Sends a request to an instance and prints its answer. The input is ${VALUE_FORMS}. ` +
        "If the instance does not answer in time, the request stays sent: repeat the command with the same " +
        "--request-id to get its answer.",
      examples: [
        [`perdure ask cart-7 add '{"sku":"a-1"}'`, "send an input with the request"],
        ["perdure ask cart-7 add @item.json --timeout 5s", "read the input from a file"],
        [`perdure ask cart-7 add '{"sku":"a-1"}' --request-id r1`, "repeatable: one request"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const [id = "", request = "", given] = args;
      const input = await parseValue(cli, "The input", given);
      const timeout =
        options.timeout === undefined ? undefined : parseTimeSpan("--timeout", options.timeout);
      await using session = await Session.open(call);
      using interruption = new Interruption();
      const { signal } = interruption;
      const { requestId } = options;
      const handle = session.client.get(id);
      try {
        const askOptions = { signal, ...defined({ timeout, requestId }) };
        const answer = await handle.ask(request, input, askOptions);
        if (options.json === true) {
          cli.out.document({ id, request, ...member("answer", toHttp(answer)) });
        } else cli.out.line(showValue(answer, Infinity));
        return 0;
      } catch (error) {
        if (interruption.code !== undefined) return interruption.code;
        if (!(error instanceof RequestError) || options.json === true) throw error;
        const what = error.kind === "refused" ? "refused" : "failed to handle";
        cli.err.line(red("✗ "), `${id} ${what} ${request}: ${reasonOf(error)}`);
        return 12;
      }
    },
  )
    .option("--timeout <duration>", "how long to wait for the answer; default: 30s")
    .option(
      "--request-id <id>",
      "idempotency key: repeated commands with this id send one request and print its answer",
    );
}

/** The name of a refusal by `call.refuse` says nothing more than the text before it. */
function reasonOf({ failure, cause }: RequestError): string {
  return failure.name === "RequestRefused" ? failure.message : failureHeadline(failure, cause);
}
