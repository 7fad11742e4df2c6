/// Chooses the platform of each row.
package struct ImportPlatforms: Sendable {
    private let platforms: [Platform]

    /// - Parameter platforms: of one application.
    package init(_ platforms: [Platform]) { self.platforms = platforms }

    /// The platform of a row: the one of its type, and of its mode where several are of the type. Where there is one
    /// platform alone, rows that do not say their type belong to it.
    package func platform(for row: ImportRow) throws(InvalidInput) -> Platform {
        guard !row.kinds.isEmpty else {
            guard let only = platforms.first, platforms.count == 1 else {
                throw InvalidInput(field: "type", "is not said, and there are \(platforms.count) platforms")
            }
            return only
        }
        for kind in row.kinds {
            let fitting = platforms.filter { $0.kind == kind }
            if let only = fitting.first, fitting.count == 1 { return try Self.checked(only, row) }
            guard fitting.isEmpty else {
                if let mode = row.mode, let one = fitting.first(where: { $0.mode == mode }) { return one }
                throw InvalidInput(
                    field: "type",
                    "is \(kind.rawValue), and there are \(fitting.count) platforms of it; name the one that is meant")
            }
        }
        throw InvalidInput(
            field: "type", "is \(row.kinds.map(\.rawValue).joined(separator: " or ")), and no platform is of it")
    }

    /// A token of a provider's development is unknown in its production, and the reverse.
    private static func checked(_ platform: Platform, _ row: ImportRow) throws(InvalidInput) -> Platform {
        guard let mode = row.mode, platform.kind.hasModes, mode != platform.mode else { return platform }
        throw InvalidInput(field: "mode", "is \(mode.rawValue), the platform is of \(platform.mode.rawValue)")
    }
}
