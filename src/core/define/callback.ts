// Callbacks: calls from outside that complete a wait or an activity, by a signed address.
//   - The signer is passed in by the wiring: core has no keys. An execution records the address that it created, so
//       a replay needs neither the key nor the base address.

import { checkMembers, type Members } from "../checks.ts";
import { parseName } from "../ids/ids.ts";
import { defined } from "../values/defined.ts";
import {
  checkSchema,
  type SchemaInput,
  type SchemaOutput,
  type StandardSchema,
} from "../values/standard-schema.ts";

/** How a process signs and checks the addresses of callbacks: `Perdure.open(address, { callbacks })`. */
export interface CallbackSettings {
  /**
   * 1 to 10 secrets of at least 32 bytes each. The first one signs; all of them are accepted, so that a secret can be
   * rotated. All processes on a store must have the same secrets.
   */
  readonly secrets: readonly (string | Uint8Array)[];
  /** The address under which `callbacks(client)` of `perdure/callback` is mounted, without the token. */
  readonly baseUrl: string;
}

/** The address of a callback. One call to it completes the callback; it needs no other permission. */
export interface CallbackAddress {
  readonly url: string;
  readonly token: string;
}

/** A callback, created by `callback(…)`. `Sent` differs from `T` only if a schema transforms the value. */
export interface CallbackDef<T, Sent = T> {
  readonly kind: "callback";
  readonly name: string;
  readonly schema?: StandardSchema;
  readonly "~types"?: { readonly sent: (value: Sent) => void; readonly received: () => T };
}

/** Options of a callback definition. */
export interface CallbackDefinition {
  /** Validates the value where it arrives, and again where the code receives it. */
  readonly schema?: StandardSchema;
}
const DEFINITION: Members<CallbackDefinition> = { schema: true };

/** Defines a callback: its name, and the type and the schema of its value. */
export function callback<Schema extends StandardSchema>(
  name: string,
  options: { readonly schema: Schema },
): CallbackDef<SchemaOutput<Schema>, SchemaInput<Schema>>;
export function callback<T = unknown>(name: string, options?: CallbackDefinition): CallbackDef<T>;
export function callback<T>(name: string, options: CallbackDefinition = {}): CallbackDef<T> {
  const what = `callback "${parseName(name, "callback name")}"`;
  checkMembers(options, DEFINITION, what);
  const { schema } = options;
  checkSchema(schema, what);
  return Object.freeze({ kind: "callback", name, ...defined({ schema }) });
}

/** The call that an address completes. */
export interface CallbackCall {
  /** "callback": a wait of `ctx.callback`. "activity": an attempt that called `completeLater`. */
  readonly kind: "callback" | "activity";
  readonly instanceId: string;
  readonly runId: string;
  readonly execution: number;
  /** The event that recorded the call. */
  readonly sequence: number;
  /** The attempt of an activity, from 1 on; 0 for a callback. */
  readonly attempt: number;
  readonly orchestration: string;
  /** The name of the callback or of the activity. */
  readonly name: string;
  /** When the wait times out, in milliseconds; 0: never. */
  readonly expiresAt: number;
  /** Whether a schema checks the value. */
  readonly isChecked: boolean;
}

/** Creates addresses. */
export interface CallbackSigner {
  /** Reads the id of the store. Must have resolved before the first call of `sign`. */
  open(): Promise<void>;
  sign(call: CallbackCall): CallbackAddress;
  /** Remembers the schema of a callback of an orchestration, for clients in this process. */
  learn(orchestration: string, name: string, schema: StandardSchema): void;
}
