// Objects without members that are undefined. Stored and public objects leave an absent member out.
//   - Not for code that runs once per event: it copies the object.

/** `Members` without `undefined` in its values; a member that may be undefined is optional. */
export type Defined<Members> = {
  [Name in keyof Members as undefined extends Members[Name] ? never : Name]: Members[Name];
} & {
  [Name in keyof Members as undefined extends Members[Name] ? Name : never]?: Exclude<
    Members[Name],
    undefined
  >;
};

/** A copy of an object, in the same order, without the members that are undefined. */
export function defined<const Members extends object>(members: Members): Defined<Members> {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Defined<Members>;
}
