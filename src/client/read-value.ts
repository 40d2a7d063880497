// Reads a typed value of an instance: a key, its custom status, or an attribute.

import type { ValueDef } from "../core/define/request.ts";
import { fromStored } from "../core/define/attributes.ts";
import { damagedPart } from "./outcome.ts";
import type { Store } from "./store.ts";

export async function readValue<T>(
  store: Store,
  id: string,
  { name, as }: ValueDef<T>,
): Promise<T | undefined> {
  // The type comes from the definition: the code that sets the value uses it too.
  if (as === "attribute") return (await readAttribute(store, id, name)) as T | undefined;
  const text = as === "key" ? await readKey(store, id, name) : await readStatus(store, id);
  return text === undefined ? undefined : (store.codec.decode(text) as T);
}

async function readKey(store: Store, id: string, key: string): Promise<string | undefined> {
  const record = await store.read((provider) => provider.readKeyValue(id, key));
  if (record === null) await store.record(id); // throws if there is no such instance
  return record?.value;
}

async function readStatus(store: Store, id: string): Promise<string | undefined> {
  const record = await store.record(id);
  if (record.damaged?.includes("customStatus") === true) throw damagedPart(record, "customStatus");
  return record.customStatus ?? undefined;
}

async function readAttribute(store: Store, id: string, name: string): Promise<unknown> {
  const record = await store.record(id);
  if (record.damaged?.includes("attributes") === true) throw damagedPart(record, "attributes");
  const stored = Object.hasOwn(record.attributes, name) ? record.attributes[name] : undefined;
  return stored === undefined ? undefined : fromStored(stored);
}
