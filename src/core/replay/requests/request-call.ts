// Request call: one received request in the hands of the code, and its answer.
//   - request-call.1: The answer is a command. It is stored with the turn, and so is the message to an instance
//       that asked. A fork answers no request that it copied: its original does (semantics 18c).
//   - A second answer, and an answer after the request is closed, throws INVALID_ARGUMENT at the call.
//   - A value that cannot be stored throws at the call and records nothing.

import { invalidArgument } from "../../checks.ts";
import type { AnyRequest } from "../../define/request.ts";
import { requestName } from "../../define/request.ts";
import { toFailure, type Failure } from "../../errors/failure.ts";
import type {
  AskCompleted,
  AskFailed,
  RequestAnswered,
  RequestRefused,
} from "../../history/events.ts";
import { showValue } from "../../ids/ids.ts";
import { requestIdOf } from "../../ids/request-messages.ts";
import type { Answer } from "../../provider/asks.ts";
import type { Message } from "../../provider/messages.ts";
import { answerKey } from "../../provider/shared/message-keys.ts";
import { checkPayload } from "../../values/limits.ts";
import { validateNow } from "../../values/standard-schema.ts";
import type { ReceivedRequest } from "./request-box.ts";
import type { Run } from "../run.ts";

/** An answer of this turn, to which the state of an entity may be added (published-state.2). */
type RecordedAnswer = Omit<RequestAnswered, "state"> & { state?: string };

/** Who asked, and under which id. */
export type AskedBy = Pick<ReceivedRequest, "id" | "from">;

/** The `RequestCall` of the public types. */
export class OpenRequest {
  input: unknown;
  readonly #run: Run;
  readonly #request: ReceivedRequest;
  readonly #definition: AnyRequest | null;
  /** The error of the last answer that could not be stored. */
  answerError: unknown = undefined;

  constructor(run: Run, request: ReceivedRequest, input: unknown, definition: AnyRequest | null) {
    this.#run = run;
    this.#request = request;
    this.#definition = definition;
    this.input = input;
  }

  get id(): string {
    return this.#request.id;
  }
  get name(): string {
    return this.#request.name;
  }
  get from(): { readonly id: string } | undefined {
    const { from } = this.#request;
    return from && { id: from.id };
  }
  get chain(): readonly string[] {
    return this.#request.chain ?? [];
  }
  get isAnswered(): boolean {
    return !this.#box.isOpen(this.#request);
  }
  /** Whether the next recorded event answers or refuses this request. */
  get isRecordedAsAnswered(): boolean {
    const { sequence: received } = this.#request;
    const recorded = this.#run.nextRecorded;
    return (
      (recorded?.kind === "RequestAnswered" || recorded?.kind === "RequestRefused") &&
      recorded.received === received
    );
  }
  /** Repeats the recorded answer. Returns the state that it records (published-state.2). */
  repeat(): string | undefined {
    const recorded = this.#run.nextRecorded;
    if (recorded?.kind !== "RequestAnswered" && recorded?.kind !== "RequestRefused")
      return undefined;
    this.#record(recorded);
    return recorded.kind === "RequestAnswered" ? recorded.state : undefined;
  }
  /** Whether the next recorded event refuses this request. */
  get isRecordedAsRefused(): boolean {
    const { sequence: received } = this.#request;
    const failure = refusal("", this.#run);
    return this.#run.isRecorded({ kind: "RequestRefused", received, outcome: "refused", failure });
  }
  is(request: AnyRequest | string): boolean {
    return requestName(request) === this.name;
  }

  /** Returns the recorded answer, so that the state can be added to it. */
  answer(value: unknown): RecordedAnswer | null {
    this.#run.currentScope();
    this.#mustBeOpen();
    try {
      const schema = this.#definition?.output;
      const what = `answer of request "${this.name}"`;
      const output = this.#run.codec.encode(
        schema === undefined ? value : validateNow(schema, value, what),
      );
      checkPayload(output, `The ${what}`, this.#run.limits);
      const { sequence: received } = this.#request;
      const answer: RecordedAnswer = { kind: "RequestAnswered", received, output };
      return this.#record(answer);
    } catch (error) {
      this.answerError = error;
      throw error;
    }
  }

  refuse(reason: string | Error): void {
    this.#run.currentScope();
    this.#mustBeOpen();
    if (typeof reason !== "string" && !(reason instanceof Error)) {
      const got = showValue(reason);
      throw invalidArgument(`call.refuse must be given a text or an Error; got ${got}.`);
    }
    this.end("refused", reason);
  }

  fail(error: unknown): void {
    this.#run.currentScope();
    this.#mustBeOpen();
    this.end("failed", error);
  }

  /** Answers with a failure, unless the request has an answer. */
  end(outcome: "refused" | "failed", reason: unknown): void {
    if (this.isAnswered) return;
    const failure =
      typeof reason === "string"
        ? refusal(reason, this.#run)
        : toFailure(reason, { codec: this.#run.codec });
    const { sequence: received } = this.#request;
    this.#record({ kind: "RequestRefused", received, outcome, failure });
  }

  get #box() {
    return this.#run.requests;
  }

  #mustBeOpen(): void {
    if (!this.#run.isOver && this.#box.isOpen(this.#request)) return;
    const why = this.#run.isOver ? "the execution has ended" : "it already has an answer";
    throw invalidArgument(`Request "${this.name}" (${this.id}) cannot be answered: ${why}.`);
  }

  /** Null: the run is over. */
  #record<Body extends RequestAnswered | RequestRefused>(body: Body): Body | null {
    const run = this.#run;
    const command = run.command(body);
    if (command === null) return null;
    this.#box.answered(this.#request);
    const isCopied = this.#request.sequence <= (run.options.copiedUntil ?? 0);
    if (command.isNew && !isCopied) sendAnswer(run, this.#request, answerOf(body)); // request-call.1
    return command.body;
  }
}

/** The engine's side of a call that `ctx.requests` returned. */
export function openRequest(call: object): OpenRequest {
  if (call instanceof OpenRequest) return call;
  throw new Error("The engine did not create this call.");
}

/** Refuses a request that no code has received. Nothing is recorded but the answer. */
export function refuseUnreceived(
  run: Run,
  message: Message,
  by: AskedBy["from"],
  error: unknown,
): void {
  const id = requestIdOf(message.key ?? "");
  const failure = toFailure(error, { codec: run.codec });
  sendAnswer(
    run,
    { id, ...(by === undefined ? {} : { from: by }) },
    { outcome: "refused", failure },
  );
}

function refusal(message: string, run: Run): Failure {
  const error = new Error(message);
  error.name = "RequestRefused";
  error.stack = `RequestRefused: ${message}`;
  return toFailure(error, { codec: run.codec });
}

function answerOf(body: RequestAnswered | RequestRefused): Answer {
  if (body.kind === "RequestAnswered") return { output: body.output };
  return { outcome: body.outcome, failure: body.failure };
}

function sendAnswer(run: Run, { id, from }: AskedBy, answer: Answer): void {
  run.effects.answer({ requestId: id, answer: JSON.stringify(answer) });
  if (from === undefined) return;
  const { id: to, runId, execution, sequence } = from;
  const body: AskCompleted | AskFailed =
    "output" in answer
      ? { kind: "AskCompleted", scheduled: sequence, output: answer.output }
      : { kind: "AskFailed", scheduled: sequence, ...answer };
  run.effects.sends.push({
    to: { id: to, runId },
    kind: "answer",
    execution,
    sequence,
    data: JSON.stringify(body),
    key: answerKey(from),
  });
}
