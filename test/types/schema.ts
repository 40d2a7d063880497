// A schema as any library makes one that follows the Standard Schema convention; only its types matter here.

/** Written out, not imported from perdure: users' schemas are not made from our type either. */
export declare function schema<Input, Output = Input>(): {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: "library";
    readonly validate: (
      value: unknown,
    ) =>
      | { readonly value: Output; readonly issues?: undefined }
      | { readonly issues: readonly { readonly message: string }[] };
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
  readonly parse: (value: unknown) => Output;
};
