// What a runtime and its activity threads say to each other.
//   TM1. Users' values cross as texts that the codec wrote, never as live objects (I10).
//   TM2. An attempt has a number; what is said of one that is over is ignored.
//   TM3. Neither side can flood the other: beats and progress are spaced (thread-voice.ts), log lines counted in
//        shared memory (thread-log.ts), news gathered until the last was heard (thread-store-host.ts).

import type { Limits } from "../core/limits.ts";
import type { LogLevel } from "../core/log.ts";
import type { AttemptDescription } from "./activity-run.ts";

/** What a thread is given when it is made. */
export interface ThreadData {
  readonly module: string;
  readonly limits: Limits;
  readonly store: { readonly name: string; readonly durability: string };
  /** One Int32: log lines on their way to the runtime. */
  readonly logMemory: SharedArrayBuffer;
}

/** One attempt, as it is sent to a thread. */
export interface AttemptOrder extends AttemptDescription {
  readonly name: string;
  readonly input: string;
  readonly lastHeartbeat: string | null;
}

export type ToThread =
  | {
      readonly kind: "run";
      readonly id: number;
      readonly order: AttemptOrder;
      readonly storeNow: number;
    }
  /** JSON text of a Failure. */
  | { readonly kind: "abort"; readonly id: number; readonly reason: string }
  | { readonly kind: "answer"; readonly id: number; readonly value: string }
  /** JSON text of a Failure. */
  | { readonly kind: "refusal"; readonly id: number; readonly failure: string }
  /** JSON text of News. */
  | { readonly kind: "news"; readonly news: string };

export type FromThread =
  | { readonly kind: "ready"; readonly names: readonly string[]; readonly hasCodec: boolean }
  | { readonly kind: "unusable"; readonly why: string }
  /** JSON text of an ActivityResult. */
  | { readonly kind: "ended"; readonly id: number; readonly result: string }
  | { readonly kind: "heartbeat"; readonly id: number; readonly details: string | null }
  | { readonly kind: "progress"; readonly id: number; readonly value: string }
  /** Encoded by the default codec, as are the texts of calls and answers. */
  | {
      readonly kind: "log";
      readonly level: LogLevel;
      readonly message: string;
      readonly fields: string;
    }
  | {
      readonly kind: "call";
      readonly id: number;
      readonly method: string;
      readonly parameters: string;
    }
  | { readonly kind: "listen"; readonly on: boolean }
  | { readonly kind: "heard" };

export type Ready = Extract<FromThread, { kind: "ready" }>;
