/// A part of the program that others wrote, and its licence.
struct Component: Sendable {
    let name: String
    /// Empty where it is the system's.
    let version: String
    let licence: Licence

    enum Licence: String, Sendable {
        case apache = "Apache-2.0"
        case mit = "MIT"
        case postgres = "PostgreSQL"
        case publicDomain = "public domain"
        case lgpl = "LGPL-2.1-or-later"
    }

    init(_ name: String, _ version: String, _ licence: Licence) {
        self.name = name
        self.version = version
        self.licence = licence
    }

    /// Packages linked into the program, as Package.resolved has them; `ServerPageTests` compares them.
    static let packages = [
        Component("async-http-client", "1.37.0", .apache),
        Component("grdb.swift", "7.10.0", .mit),
        Component("hummingbird", "2.28.1", .apache),
        Component("swift-algorithms", "1.2.1", .apache),
        Component("swift-argument-parser", "1.8.2", .apache),
        Component("swift-asn1", "1.7.4", .apache),
        Component("swift-async-algorithms", "1.1.4", .apache),
        Component("swift-atomics", "1.3.0", .apache),
        Component("swift-certificates", "1.21.1", .apache),
        Component("swift-collections", "1.6.0", .apache),
        Component("swift-configuration", "1.4.0", .apache),
        Component("swift-crypto", "4.5.2", .apache),
        Component("swift-distributed-tracing", "1.7.3", .apache),
        Component("swift-http-structured-headers", "1.7.0", .apache),
        Component("swift-http-types", "1.8.0", .apache),
        Component("swift-log", "1.16.2", .apache),
        Component("swift-metrics", "2.13.0", .apache),
        Component("swift-mustache", "2.1.1", .apache),
        Component("swift-nio", "2.101.2", .apache),
        Component("swift-nio-extras", "1.35.2", .apache),
        Component("swift-nio-http2", "1.46.0", .apache),
        Component("swift-nio-ssl", "2.37.6", .apache),
        Component("swift-nio-transport-services", "1.28.0", .apache),
        Component("swift-numerics", "1.1.1", .apache),
        Component("swift-service-context", "1.5.1", .apache),
        Component("swift-service-lifecycle", "2.13.0", .apache),
        Component("swift-system", "1.8.1", .apache),
    ]

    /// Libraries of the system that the program loads.
    static let libraries = [
        Component("libnghttp2", "", .mit), Component("c-ares", "", .mit),
        Component("libpq", "", .postgres), Component("SQLite", "", .publicDomain),
        Component("libqrencode", "", .lgpl),
    ]
}
