// perdure/entity: objects with durable state, one per key, that are called like functions.

export {
  entity,
  Entity,
  type EntityHandlers,
  type EntityOptions,
  type EntityReads,
} from "./entity.ts";
export type { ClientCalls, ContextCalls, EntityInput, Self } from "./types.ts";
