// The signer: creates the addresses of callbacks for the runs and the attempts of a runtime.

import type {
  CallbackAddress,
  CallbackCall,
  CallbackSettings,
  CallbackSigner,
} from "../../core/define/callback.ts";
import { backOff } from "../../core/commit/back-off.ts";
import { isPerdureError } from "../../core/errors/errors.ts";
import type { Provider } from "../../core/provider/provider.ts";
import type { StandardSchema } from "../../core/values/standard-schema.ts";
import { CallbackSchemas } from "./schemas.ts";
import { resolveCallbacks, type ResolvedCallbacks } from "./settings.ts";
import { signToken } from "./token.ts";

export class Signer implements CallbackSigner {
  readonly #provider: Provider;
  readonly #settings: ResolvedCallbacks;
  readonly #schemas: CallbackSchemas;
  #storeId: string | null = null;

  constructor(provider: Provider, settings: CallbackSettings) {
    this.#provider = provider;
    this.#settings = resolveCallbacks(settings);
    this.#schemas = CallbackSchemas.of(provider);
  }

  async open(): Promise<void> {
    for (let attempt = 0; this.#storeId === null; attempt++) {
      try {
        this.#storeId = await this.#provider.storeId();
      } catch (error) {
        if (!isPerdureError(error, "STORE_UNAVAILABLE")) throw error;
        await backOff(this.#provider.environment, attempt);
      }
    }
  }

  sign(call: CallbackCall): CallbackAddress {
    return addressOf(call, this.#settings, this.#storeId);
  }

  learn(orchestration: string, name: string, schema: StandardSchema): void {
    this.#schemas.learn(orchestration, name, schema);
  }
}

/** `storeId` null: the signer was used before it was opened. */
export function addressOf(
  call: CallbackCall,
  { secrets: [secret], baseUrl }: ResolvedCallbacks,
  storeId: string | null,
): CallbackAddress {
  if (storeId === null || secret === undefined) throw new Error("The signer is not open.");
  const token = signToken({ ...call, storeId }, secret);
  return { url: `${baseUrl}/${token}`, token };
}
