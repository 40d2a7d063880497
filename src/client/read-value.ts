// Reads a typed value of an instance: a key, its custom status, or an attribute.

import type { ValueDef } from "../core/define/request.ts";
import { damagedPart } from "./outcome.ts";
import type { Store } from "./store.ts";

export async function readValue<T>(
  store: Store,
  id: string,
  { name, as }: ValueDef<T>,
): Promise<T | undefined> {
  const text = as === "key" ? await readKey(store, id, name) : await readPart(store, id, name, as);
  if (text === undefined) return undefined;
  // The type comes from the definition: the code that sets the value uses it too.
  return (as === "attribute" ? text : store.codec.decode(text)) as T;
}

async function readKey(store: Store, id: string, key: string): Promise<string | undefined> {
  const record = await store.read((provider) => provider.readKeyValue(id, key));
  if (record === null) await store.record(id); // throws if there is no such instance
  return record?.value;
}

async function readPart(
  store: Store,
  id: string,
  name: string,
  as: "status" | "attribute",
): Promise<string | undefined> {
  const record = await store.record(id);
  const part = as === "status" ? "customStatus" : "attributes";
  if (record.damaged?.includes(part) === true) throw damagedPart(record, part);
  return as === "status" ? (record.customStatus ?? undefined) : record.attributes[name];
}
