// Streams: what the orchestrations and activities of programs write to the streams of their instance.
//   - Every value names the part that wrote it, by the unique key of the part, and its number in that part. So values
//        that are lost, doubled or out of order are found (check-streams.ts).

import { activity, type Activity } from "../../../core/define/definitions.ts";
import { stream, type StreamDef } from "../../../core/define/stream.ts";
import type { OrchestrationContext } from "../../../core/context/types.ts";
import { isPerdureError } from "../../../core/errors/errors.ts";
import type { SimulatedProcess } from "../world/machine.ts";
import { CLOSED, failsForGood, mix, WRITTEN } from "./expected.ts";
import type { StreamedNode, StreamPart, WriteNode } from "./program.ts";

/** The name of the activity that writes to streams. */
export const STREAMED = "streamed";

/** A value of a stream. */
export interface StreamValue {
  readonly key: string;
  readonly n: number;
  /** Fills the value up to the size that the part has drawn. */
  readonly filler: string;
}

/** A stream of an instance, by its name. */
export function valuesOf(name: string): StreamDef<StreamValue, StreamValue> {
  return stream<StreamValue>(name);
}

function valueOf({ key, bytes }: StreamPart, n: number): StreamValue {
  return { key, n, filler: "x".repeat(bytes) };
}

/** Writes the values of the part in one turn. A stream that was closed before refuses all of them. */
export function write(ctx: OrchestrationContext, node: WriteNode): string {
  const out = ctx.stream(valuesOf(node.stream));
  try {
    for (let n = 0; n < node.count; n++) out.write(valueOf(node, n));
  } catch (error) {
    if (isPerdureError(error, "INVALID_ARGUMENT")) return CLOSED;
    throw error;
  }
  if (node.closes) out.close();
  return WRITTEN;
}

/** An attempt that fails has written some of its values before. */
export function streamedActivity(process: SimulatedProcess): Activity<StreamedNode, number> {
  return activity(STREAMED, async (node: StreamedNode, { attempt, stream: open }) => {
    const { count, ms, salt, flushes } = node;
    const fails = failsForGood(node) || attempt <= node.fails; // a crash counts as an attempt too
    const last = fails ? Math.ceil(count / 2) : count;
    const out = open(valuesOf(node.stream));
    for (let n = 0; n < last; n++) {
      await out.write(valueOf(node, n));
      if (flushes) await out.flush();
      await process.sleep(ms / count);
    }
    if (fails) throw new Error(`scripted: attempt ${attempt}`);
    if (salt % 2 === 0) await out.close(); // the end of the attempt flushes the others
    return mix(salt);
  });
}
