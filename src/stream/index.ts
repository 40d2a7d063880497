// perdure/stream: values that an instance shows to readers while it runs.

export {
  stream,
  type AnyStream,
  type StreamDef,
  type StreamOptions,
  type StreamValue,
  type StreamWritten,
} from "../core/define/stream.ts";
export type { StreamWriter } from "../core/context/activity-context.ts";
export type { OrchestrationStream } from "../core/context/types.ts";
export type {
  StreamEnd,
  StreamEntry,
  StreamInfo,
  StreamItem,
  StreamResetEntry,
} from "../client/streams/entries.ts";
export type { ReadStreamOptions, StreamReader } from "../client/streams/read-stream.ts";
