// The way in: whatever was thrown, as a Failure.
//   N1. Never throws. What cannot be read is left out: a throwing getter, a hostile proxy, an endless chain.
//   N2. Bounded by FAILURE_LIMITS, in each part and as a whole.
//   N3. The failure inside an ActivityError and its kin is kept as it is, not made again from its copy.

import { type Codec, defaultCodec } from "./codec.ts";
import { nearestErrorClassName } from "./error-classes.ts";
import { isPerdureError } from "./errors.ts";
import {
  type EncodedValue,
  type Failure,
  FAILURE_LIMITS,
  isEncodedValue,
} from "./failure-record.ts";
import * as reading from "./failure-reading.ts";
import { sealFailure } from "./failure-seal.ts";
import { NonRetryableError } from "./retry-errors.ts";

export interface FailureOptions {
  readonly category?: Failure["category"];
  readonly kind?: NonNullable<Failure["kind"]>;
  /** Where the thrower does not decide it. */
  readonly retryable?: boolean;
  readonly codec?: Codec;
}

export function toFailure(thrown: unknown, options: FailureOptions = {}): Failure {
  const capture = new Capture(options.codec ?? defaultCodec);
  const { category, kind, retryable, codec } = options;
  const failure = {
    ...(reading.attempt(() => capture.failure(thrown)) ?? UNREADABLE),
    ...(category !== undefined && { category }),
    ...(kind !== undefined && { kind }),
    ...(retryable !== undefined && { retryable }),
  };
  return codec?.sealsFailures === true ? sealFailure(failure, codec) : failure;
}

type Draft = { -readonly [Key in keyof Failure]: Failure[Key] };

const UNREADABLE: Failure = {
  category: "application",
  name: "Error",
  message: "something was thrown that cannot be read",
  retryable: true,
};

/** Recorded in fields of their own; the rest of an error's properties is `data`. */
const RESERVED: ReadonlySet<string> = new Set(["name", "message", "stack", "cause"]);

class Capture {
  readonly #codec: Codec;
  /** The errors that this one is a cause of. */
  readonly #outer = new Set<object>();
  #charsLeft: number = FAILURE_LIMITS.totalChars;
  #errorsLeft: number = FAILURE_LIMITS.errors;

  constructor(codec: Codec) {
    this.#codec = codec;
  }

  failure(thrown: unknown): Failure {
    return reading.isErrorLike(thrown) ? this.#ofError(thrown) : this.#ofValue(thrown);
  }

  #ofError(error: object): Failure {
    this.#errorsLeft--;
    const type = reading.attempt(() => nearestErrorClassName(error)) ?? "Error";
    const draft: Draft = {
      category: "application",
      name: this.#cut(reading.readName(error), FAILURE_LIMITS.nameChars),
      message: this.#cut(reading.readText(error, "message"), FAILURE_LIMITS.messageChars),
      retryable: !(
        error instanceof NonRetryableError || isPerdureError(error, "VALUE_NOT_SERIALIZABLE")
      ),
    };
    if (type !== "Error") draft.type = type;
    const stack = reading.read(error, "stack");
    if (typeof stack === "string") draft.stack = this.#cut(stack, FAILURE_LIMITS.stackChars);
    const code = reading.read(error, "code");
    if (typeof code === "string") draft.code = this.#cut(code, FAILURE_LIMITS.nameChars);
    this.#outer.add(error);
    this.#addCauses(draft, error, type);
    this.#outer.delete(error);
    return draft;
  }

  #addCauses(draft: Draft, error: object, type: string): void {
    const inner = isPerdureError(error) ? reading.read(error, "failure") : undefined;
    const keptFailure = reading.isFailure(inner) ? inner : undefined;
    const cause =
      keptFailure === undefined
        ? this.#cause(reading.read(error, "cause"))
        : this.#kept(keptFailure);
    if (cause !== undefined) draft.cause = cause;
    const errors = reading.memberErrors(error, type).map((member) => this.#cause(member));
    if (errors.length > 0) draft.errors = errors.filter((member) => member !== undefined);
    const data = this.#data(error, draft.code !== undefined, keptFailure !== undefined);
    if (data !== undefined) draft.data = data;
  }

  #cause(value: unknown): Failure | EncodedValue | undefined {
    if (value === undefined || !this.#hasRoom()) return undefined;
    if (reading.isErrorLike(value))
      return this.#outer.has(value) ? undefined : this.#ofError(value);
    const encoded = this.#encode(value);
    return encoded === undefined ? this.#ofValue(value) : { encoded };
  }

  /** N3. Counted like any other, and cut off where the bounds are reached. */
  #kept(failure: Failure, depth = this.#outer.size): Failure | undefined {
    const chars =
      failure.message.length + (failure.stack?.length ?? 0) + (failure.data?.length ?? 0);
    const isTooDeep = depth >= FAILURE_LIMITS.depth || this.#errorsLeft <= 0;
    if (isTooDeep || chars > this.#charsLeft) return undefined;
    this.#errorsLeft--;
    this.#charsLeft -= chars;
    const keep = (inner: Failure | EncodedValue) =>
      isEncodedValue(inner) ? inner : this.#kept(inner, depth + 1);
    const { cause, errors, ...rest } = failure;
    const keptCause = cause && keep(cause);
    const keptErrors = errors?.map(keep).filter((inner) => inner !== undefined);
    return {
      ...rest,
      ...(keptCause && { cause: keptCause }),
      ...(keptErrors && { errors: keptErrors }),
    };
  }

  #ofValue(value: unknown): Failure {
    const message = this.#cut(reading.describeThrown(value), FAILURE_LIMITS.messageChars);
    const thrown = this.#encode(value);
    const failure = { category: "application", name: "Error", message, retryable: true } as const;
    return thrown === undefined ? failure : { ...failure, thrown };
  }

  /** Those that the codec can restore; the others are left out one by one. */
  #data(error: object, hasCode: boolean, hasFailure: boolean): string | undefined {
    const kept: [string, unknown][] = [];
    let charsLeft: number = FAILURE_LIMITS.encodedChars;
    for (const [key, value] of reading.ownData(error)) {
      if (RESERVED.has(key) || (hasCode && key === "code") || (hasFailure && key === "failure"))
        continue;
      const text = reading.attempt(() => this.#codec.encode(value));
      if (text === undefined || text.length + key.length > charsLeft) continue;
      charsLeft -= text.length + key.length;
      kept.push([key, value]);
    }
    return kept.length === 0 ? undefined : this.#encode(Object.fromEntries(kept));
  }

  #encode(value: unknown): string | undefined {
    const text = reading.attempt(() => this.#codec.encode(value));
    const charsMax = Math.min(FAILURE_LIMITS.encodedChars, this.#charsLeft);
    if (text === undefined || text.length > charsMax) return undefined;
    this.#charsLeft -= text.length;
    return text;
  }

  #cut(text: string, charsMax: number): string {
    const cut = reading.cut(text, Math.min(charsMax, this.#charsLeft));
    this.#charsLeft -= cut.length;
    return cut;
  }

  #hasRoom(): boolean {
    return this.#outer.size < FAILURE_LIMITS.depth && this.#errorsLeft > 0;
  }
}
