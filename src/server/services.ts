// The objects that route handlers use.

import type { Client } from "../client/client.ts";
import type { Codec } from "../core/values/codec.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { Access } from "./security/access.ts";
import type { Settings } from "./options.ts";
import type { Sampler } from "./views/sampler.ts";
import type { Slots } from "./security/concurrency-slots.ts";
import type { TroubleGroups } from "./views/trouble-groups.ts";

export interface Services {
  readonly client: Client;
  readonly provider: Provider;
  readonly codec: Codec;
  readonly settings: Settings;
  readonly access: Access;
  readonly slots: Slots;
  readonly sampler: Sampler;
  readonly troubles: TroubleGroups;
  /** The OpenAPI document. It is built on the first call. */
  readonly document: () => object;
}
