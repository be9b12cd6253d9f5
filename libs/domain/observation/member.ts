/**
 * What a member holds. Its schema, its column, how rows are written and read, and how the records of a session are
 * merged follow from it.
 */
export type MemberType =
  | "time"
  | "source"
  | "identifier"
  | "dataset"
  | "workspace"
  | "ip_protocol"
  | "port"
  | "tags"
  | "protocol_name"
  | "logins"
  | "count"
  | "texts"
  | "identifiers"
  | "digests"
  | "text"
  | "lines"
  | "body"
  | "as_number"
  | "country_code"
  | "latitude"
  | "longitude"
  | "flag"
  | "object"
  | "callbacks";

export type Member = {
  readonly type: MemberType;
  /** Max characters, in Unicode code points; of each text where there are several. */
  readonly maxLength?: number;
  /** Max entries of a list. */
  readonly maxItems?: number;
  readonly doc?: string;
  /** Of a source that was in contact it is an attack: a scan has none. */
  readonly isAttack?: boolean;
  /** Its names in tagging rules. */
  readonly rules?: readonly string[];
  /** Rules compare it URL-decoded. */
  readonly isDecoded?: boolean;
  /** Its names in field maps: those in rules, if left out. */
  readonly maps?: readonly string[];
  /** The fields of the search language that it has. */
  readonly search?: readonly {
    readonly field: string;
    readonly kind: "words" | "value" | "number";
    /** All that the field may be called, the hosted service's name first. */
    readonly names: string;
    /** The field of `address_facets` with its values, where that is not of this member alone. */
    readonly facet?: string;
    /** Nearly all addresses share its few values: a search reads them from the observations, not from `address_facets`. */
    readonly hasFewValues?: boolean;
    /** The name of its list in the statistics of what addresses did, and what a value is for people. */
    readonly list?: readonly [name: string, heading: string];
  }[];
};

/** Some members by their names on the wire. */
export type Members = Readonly<Record<string, Member>>;

/** A table of members. */
export type MembersOf<Table> = { readonly [Name in keyof Table]: Member };

/** The names of a table's members that hold some type. */
export type NamesOf<Table extends MembersOf<Table>, Type extends MemberType> = {
  [Name in keyof Table]: Table[Name]["type"] extends Type ? Name : never;
}[keyof Table] &
  string;
