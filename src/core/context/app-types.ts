// The types that an application adds: the members of its context and of its services.
//   - An application declares them by augmentation: `declare module "perdure" { interface Context { tenant: string } }`.
//   - Without a declaration, every member is `unknown`.

/**
 * The members of the context. Declare yours with `declare module "perdure" { interface Context { … } }`. A member that not
 * every start sets must be optional.
 */
export interface Context {}

/**
 * The services of activities and steps. Declare yours with `declare module "perdure" { interface Services { … } }`.
 */
export interface Services {}

/** A context as code reads it. */
export type ContextValues = keyof Context extends never
  ? Readonly<Record<string, unknown>>
  : Readonly<Context>;

/** A context as a caller gives it. A member that is undefined is absent. */
export type ContextInput = keyof Context extends never
  ? Readonly<Record<string, unknown>>
  : { readonly [Name in keyof Context]?: Context[Name] | undefined };

/** The services as code reads them. */
export type ServiceValues = keyof Services extends never
  ? Readonly<Record<string, unknown>>
  : Readonly<Services>;

/** Services that a test gives: those that its code uses. */
export type SomeServices = keyof Services extends never
  ? Readonly<Record<string, unknown>>
  : Readonly<Partial<Services>>;

/** The option `context` of a start. */
export interface StartContext {
  /** A small record (at most 4 KiB) that the instance hands to everything that it starts: `ctx.context`. */
  readonly context?: ContextInput;
}
/** The option `context` of a start in an orchestration. */
export interface InheritedContext {
  /** Members to add to the context of the caller, or to replace. A member that is undefined is removed. */
  readonly context?: ContextInput;
}
