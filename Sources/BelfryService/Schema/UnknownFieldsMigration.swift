/// Whether an application's back ends may send PCF's API what nothing reads; see `Application.ignoresUnknownFields`.
enum UnknownFieldsMigration: SchemaMigration {
    static let identifier = "0007 unknown fields"

    static func run(in db: some SQLConnection) throws {
        try db.run(script: "ALTER TABLE application ADD COLUMN \(flag: "ignores_unknown_fields", false)")
    }
}
