package import PostgreSQL

extension Instant: PostgresValue {
    package static var postgresType: PostgresType { .bigint }

    package func encode(into bytes: inout [UInt8]) -> Bool { milliseconds.encode(into: &bytes) }
}

extension Key: PostgresValue {
    package static var postgresType: PostgresType { .bigint }

    package func encode(into bytes: inout [UInt8]) -> Bool { rawValue.encode(into: &bytes) }
}
