// Asserts types, for the files in test/project/types/. They are compiled, never run.

/** `expectTypeOf(await handle.result()).is<{ status: "shipped" }>()` */
export declare function expectTypeOf<Actual>(value: Actual): {
  is<Expected>(
    ...same: Same<Actual, Expected> extends true ? [] : [expected: Expected, actual: Actual]
  ): void;
};

/** True if both are the same type, not merely assignable; `any` equals only `any`. */
export type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
