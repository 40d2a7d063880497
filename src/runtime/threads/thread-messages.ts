// The messages between a runtime and its activity threads.
//   - User values are sent as text that the codec wrote, never as live objects (I10).
//   - Each attempt has a number. Messages about an attempt that is over are ignored.
//   - Neither side can flood the other. Heartbeats and progress are rate limited (thread-reports.ts), log
//     lines are counted in shared memory (thread-log.ts), and notifications are collected until the
//     thread has handled the last one (thread-store-host.ts).

import type { CallbackAddress, CallbackSettings } from "../../core/define/callback.ts";
import type { Limits } from "../../core/values/limits.ts";
import type { LogLevel } from "../../core/telemetry/log.ts";
import type { AttemptDescription } from "../../core/attempts/attempt-context.ts";

/** The data of a new thread. */
export interface ThreadData {
  readonly module: string;
  readonly limits: Limits;
  readonly keepFor: number;
  readonly logToStream: boolean;
  readonly callbacks?: CallbackSettings;
  readonly store: { readonly name: string; readonly durability: string };
  /** One Int32: the number of log lines in flight to the runtime. */
  readonly logMemory: SharedArrayBuffer;
}

/** One attempt, as it is sent to a thread. */
export interface AttemptOrder extends AttemptDescription {
  readonly name: string;
  readonly input: string;
  /** Codec text; null: none. */
  readonly context: string | null;
  readonly lastHeartbeat: string | null;
  /** The address of `completeLater`; null: without settings of callbacks. */
  readonly later: CallbackAddress | null;
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
  /** The answer to "append" or "flush". JSON text of a Failure; null: done. */
  | { readonly kind: "written"; readonly number: number; readonly failure: string | null }
  /** JSON text of News. */
  | { readonly kind: "changes"; readonly changes: string };

export type FromThread =
  | {
      readonly kind: "ready";
      readonly names: readonly string[];
      readonly hasCodec: boolean;
      readonly hasMiddleware: boolean;
    }
  | { readonly kind: "unusable"; readonly why: string }
  /** JSON text of an ActivityResult. */
  | { readonly kind: "ended"; readonly id: number; readonly result: string }
  | { readonly kind: "heartbeat"; readonly id: number; readonly details: string | null }
  | { readonly kind: "progress"; readonly id: number; readonly value: string }
  | {
      readonly kind: "append";
      readonly id: number;
      readonly number: number;
      readonly stream: string;
      readonly value: string;
    }
  | {
      readonly kind: "flush";
      readonly id: number;
      readonly number: number;
      readonly stream: string;
    }
  /** `fields` is encoded with the default codec, as are the parameters and results of calls. */
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
  | { readonly kind: "handled" };

export type Ready = Extract<FromThread, { kind: "ready" }>;
