// Stream calls: `ctx.stream`, which writes to the streams of the instance.
//   - stream-calls.1: Writes are effects of a turn and leave no event. A replay repeats the code and writes nothing,
//       because the commit of each replayed turn contained its writes.
//   - stream-calls.2: Which streams are closed depends only on the code and on the start of the execution. The start
//       of the next execution has their names. So a write after `close` throws in every replay, too.
//   - stream-calls.3: The code writes at most VALUES_MAX values and BYTES_MAX bytes between two events, because one
//       commit contains them.

import { invalidArgument } from "../checks.ts";
import { streamClosed, streamName, type AnyStream, type StreamDef } from "../define/stream.ts";
import { PerdureError } from "../errors/errors.ts";
import type { Run } from "../replay/run.ts";
import { checkPayload } from "../values/limits.ts";
import { validateNow } from "../values/standard-schema.ts";
import type { OrchestrationStream } from "./types.ts";

const VALUES_MAX = 10_000;
const BYTES_MAX = 8 * 1024 * 1024;

/** What the code has written since the last delivered event (stream-calls.3). */
interface WrittenInDrain {
  readonly event: number;
  values: number;
  bytes: number;
}
const written = new WeakMap<Run, WrittenInDrain>();

export function openStream(run: Run, given: AnyStream | string): OrchestrationStream<unknown> {
  const name = streamName(given);
  // The definition has the type of the value; here it is unknown.
  const schema = typeof given === "string" ? undefined : (given as StreamDef<unknown>).schema;
  const stream = {
    write: (value: unknown) => {
      run.currentScope();
      if (run.state.isStreamClosed(name)) throw streamClosed(name);
      const what = `value of stream "${name}"`;
      const checked = schema === undefined ? value : validateNow(schema, value, what);
      const text = run.codec.encode(checked);
      checkPayload(text, `The ${what}`, run.limits);
      count(run, name, text);
      if (!run.isReplaying && !run.isOver) run.effects.stream(name).values.push(text);
    },
    close: () => {
      run.currentScope();
      if (run.state.isStreamClosed(name)) return;
      run.state.closeStream(name);
      if (!run.isReplaying && !run.isOver) run.effects.stream(name).closes = true;
    },
    [Symbol.asyncIterator]: (): never => {
      const rule = `An orchestration cannot read stream "${name}", because its values are not in the history`;
      throw invalidArgument(`${rule}. Read it with handle.stream() in a client or an activity.`);
    },
  };
  return stream;
}

function count(run: Run, name: string, text: string): void {
  const event = run.deliveredSequence;
  let drain = written.get(run);
  if (drain?.event !== event) written.set(run, (drain = { event, values: 0, bytes: 0 }));
  drain.values++;
  drain.bytes += text.length;
  if (drain.values <= VALUES_MAX && drain.bytes <= BYTES_MAX) return;
  const rule = `The code wrote more than ${VALUES_MAX} values or ${BYTES_MAX} bytes to streams`;
  throw new PerdureError(
    "LIMIT_EXCEEDED",
    `${rule} without an await in between; the last one to stream "${name}".`,
  );
}
