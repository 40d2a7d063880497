// A checker for the part of JSON Schema that definition.schema.json uses. An unknown keyword is an error.

type Schema = Readonly<Record<string, unknown>>;

const NOTES = ["$schema", "$id", "$defs", "title", "description"];

/** The violations of the schema by a value, each as `path: text`. */
export function violations(root: Schema, value: unknown): readonly string[] {
  return check(root, value, "$");

  function check(schema: Schema, given: unknown, path: string): string[] {
    return Object.entries(schema).flatMap(([keyword, rule]) =>
      NOTES.includes(keyword) ? [] : apply(schema, keyword, rule, given, path),
    );
  }

  function apply(
    schema: Schema,
    keyword: string,
    rule: unknown,
    given: unknown,
    path: string,
  ): string[] {
    const fails = (failed: boolean): string[] =>
      failed ? [`${path}: ${keyword} ${JSON.stringify(rule)}`] : [];
    const members = isObject(given) ? given : {};
    switch (keyword) {
      case "$ref":
        return check(resolve(String(rule)), given, path);
      case "type":
        return fails(!isType(given, String(rule)));
      case "const":
        return fails(given !== rule);
      case "enum":
        return fails(!(rule as unknown[]).includes(given));
      case "minimum":
        return fails(typeof given === "number" && given < Number(rule));
      case "maximum":
        return fails(typeof given === "number" && given > Number(rule));
      case "minLength":
        return fails(typeof given === "string" && given.length < Number(rule));
      case "pattern":
        return fails(typeof given === "string" && !new RegExp(String(rule), "u").test(given));
      case "minItems":
        return fails(Array.isArray(given) && given.length < Number(rule));
      case "items":
        if (!Array.isArray(given)) return [];
        return given.flatMap((item, index) => check(rule as Schema, item, `${path}[${index}]`));
      case "required":
        return (rule as string[])
          .filter((name) => isObject(given) && !Object.hasOwn(given, name))
          .map((name) => `${path}: ${name} is missing`);
      case "properties":
        return Object.entries(rule as Record<string, Schema>).flatMap(([name, property]) =>
          Object.hasOwn(members, name) ? check(property, members[name], `${path}.${name}`) : [],
        );
      case "additionalProperties":
        return Object.keys(members)
          .filter((name) => !Object.hasOwn(schema["properties"] as Schema, name))
          .map((name) => `${path}: ${name} is not known`);
      case "allOf":
        return (rule as Schema[]).flatMap((each) => check(each, given, path));
      case "oneOf": {
        const passing = (rule as Schema[]).filter((each) => check(each, given, path).length === 0);
        return passing.length === 1
          ? []
          : [`${path}: matches ${passing.length} of the alternatives`];
      }
      default:
        throw new Error(`the checker does not know "${keyword}"`);
    }
  }

  function resolve(reference: string): Schema {
    const parts = reference.replace("#/", "").split("/");
    return parts.reduce<Schema>((schema, part) => schema[part] as Schema, root);
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isType(value: unknown, type: string): boolean {
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}
