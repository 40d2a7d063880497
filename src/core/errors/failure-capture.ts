// Failure capture: converts any thrown value to a Failure.
//   - Capturing never throws. It omits parts that cannot be read: a getter that throws, a hostile proxy, an
//       endless chain of causes.
//   - FAILURE_LIMITS bounds each part and the whole.
//   - failure-capture.1: A TaskError or OrchestrationError already holds a Failure. That Failure becomes the
//       cause as it is; it is not captured again from the restored error.
//   - A stack ends with the user's code: the frames of this library that called it are omitted.

import { type Codec, defaultCodec } from "../values/codec.ts";
import { defined } from "../values/defined.ts";
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
import { withoutEngineFrames } from "../source-line.ts";

export interface FailureOptions {
  readonly category?: Failure["category"];
  readonly kind?: NonNullable<Failure["kind"]>;
  /** Overrides what the thrown value says about retries. */
  readonly retryable?: boolean;
  readonly codec?: Codec;
}

export function toFailure(thrown: unknown, options: FailureOptions = {}): Failure {
  const capture = new Capture(options.codec ?? defaultCodec);
  const { category, kind, retryable, codec } = options;
  const failure = {
    ...(reading.attempt(() => capture.failure(thrown)) ?? UNREADABLE),
    ...defined({ category, kind, retryable }),
  };
  return codec?.sealsFailures === true ? sealFailure(failure, codec) : failure;
}

type Draft = { -readonly [Key in keyof Failure]: Failure[Key] };

const UNREADABLE: Failure = {
  category: "application",
  name: "Error",
  message: "the thrown value cannot be read",
  retryable: true,
};

/** Properties that have separate fields in a Failure. All other properties of an error go into `data`. */
const RESERVED: ReadonlySet<string> = new Set(["name", "message", "stack", "cause"]);

class Capture {
  readonly #codec: Codec;
  /** The errors that contain the current one as a cause or member. */
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
    if (typeof stack === "string") {
      draft.stack = this.#cut(withoutEngineFrames(stack), FAILURE_LIMITS.stackChars);
    }
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
        : this.#copied(keptFailure);
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

  /** failure-capture.1. The copy counts towards the bounds; causes beyond the bounds are omitted. */
  #copied(failure: Failure, depth = this.#outer.size): Failure | undefined {
    const chars =
      failure.message.length + (failure.stack?.length ?? 0) + (failure.data?.length ?? 0);
    const isTooDeep = depth >= FAILURE_LIMITS.depth || this.#errorsLeft <= 0;
    if (isTooDeep || chars > this.#charsLeft) return undefined;
    this.#errorsLeft--;
    this.#charsLeft -= chars;
    const copy = (inner: Failure | EncodedValue) =>
      isEncodedValue(inner) ? inner : this.#copied(inner, depth + 1);
    const { cause, errors, ...rest } = failure;
    const copiedErrors = errors?.map(copy).filter((inner) => inner !== undefined);
    return { ...rest, ...defined({ cause: cause && copy(cause), errors: copiedErrors }) };
  }

  #ofValue(value: unknown): Failure {
    const message = this.#cut(reading.describeThrown(value), FAILURE_LIMITS.messageChars);
    const thrown = this.#encode(value);
    const failure = { category: "application", name: "Error", message, retryable: true } as const;
    return thrown === undefined ? failure : { ...failure, thrown };
  }

  /** The own properties that the codec can restore, as codec text. The others are omitted one by one. */
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
