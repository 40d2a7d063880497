// The part of JSON Schema 2020-12 that the document uses, checked strictly: a member that the schema does not name is
// an error, so that the tests find members that the document lacks.

export interface JsonSchemaNode {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchemaNode>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchemaNode;
  readonly items?: JsonSchemaNode;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchemaNode[];
  readonly oneOf?: readonly JsonSchemaNode[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly format?: string;
}
export type Components = Readonly<Record<string, JsonSchemaNode>>;

/** The problems of the value, as `path: problem`. */
export function schemaProblems(
  value: unknown,
  schema: JsonSchemaNode,
  components: Components,
  path = "$",
): string[] {
  if (schema.$ref !== undefined) {
    const target = components[schema.$ref.replace("#/components/schemas/", "")];
    if (target === undefined) return [`${path}: ${schema.$ref} does not exist`];
    return schemaProblems(value, target, components, path);
  }
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) {
    const found = choices.map((one) => schemaProblems(value, one, components, path));
    const fitting = found.filter((problems) => problems.length === 0).length;
    if (schema.oneOf === undefined ? fitting >= 1 : fitting === 1) return [];
    return [`${path}: matches ${fitting} of its alternatives: ${found.flat().join("; ")}`];
  }
  const own: string[] = [];
  if (schema.const !== undefined && value !== schema.const) own.push(`is not ${schema.const}`);
  if (schema.enum !== undefined && !schema.enum.includes(value)) own.push("is not in the list");
  if (schema.type !== undefined && !isOfType(value, [schema.type].flat())) {
    own.push(`is not of type ${String(schema.type)}`);
  }
  if (typeof value === "number") {
    if (value < (schema.minimum ?? -Infinity)) own.push("is too small");
    if (value > (schema.maximum ?? Infinity)) own.push("is too large");
  }
  if (schema.format === "date-time" && Number.isNaN(Date.parse(String(value)))) {
    own.push("is not a valid time");
  }
  return [
    ...own.map((what) => `${path}: ${what}`),
    ...partProblems(value, schema, components, path),
  ];
}

function partProblems(
  value: unknown,
  schema: JsonSchemaNode,
  components: Components,
  path: string,
): string[] {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return [];
    return value.flatMap((one, index) =>
      schemaProblems(one, items, components, `${path}[${index}]`),
    );
  }
  if (typeof value !== "object" || value === null || schema.properties === undefined) return [];
  const { properties, required = [] } = schema;
  const missing = required.filter((name) => !Object.hasOwn(value, name));
  return [
    ...missing.map((name) => `${path}.${name}: is missing`),
    ...Object.entries(value).flatMap(([name, member]) => {
      const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (known === undefined) return [`${path}.${name}: is not in the document`];
      return schemaProblems(member, known, components, `${path}.${name}`);
    }),
  ];
}

function isOfType(value: unknown, types: readonly string[]): boolean {
  return types.some((type) => {
    if (type === "integer") return Number.isInteger(value);
    if (type === "null") return value === null;
    if (type === "array") return Array.isArray(value);
    if (type === "object") {
      return typeof value === "object" && value !== null && !Array.isArray(value);
    }
    return typeof value === type;
  });
}
