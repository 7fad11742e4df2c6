import Foundation
import Synchronization

/// The devices of the table: all of them, a tenth, a hundredth, and some that are notified one by one.
struct Crowd: Sendable {
    let count: Int
    /// The UUIDs of the devices that are notified one by one.
    let singles: [String]

    static let singleCount = 400
    /// Numbers of devices that no other device has.
    private static let firstSingle = 1_000_000_000

    enum Part: String, Sendable, CaseIterable {
        case few, some, all
    }

    func size(of part: Part) -> Int {
        switch part {
        case .all: count
        case .some: count / 10
        case .few: count / 100
        }
    }

    static func single(_ place: Int) -> Int { firstSingle + place }

    /// Registers everybody through the API, or reads who was registered by an earlier run.
    ///
    /// - Parameters:
    ///   - singleCount: how many are notified one by one.
    ///   - isThere: whether the others came in another way.
    static func register(
        count: Int, singleCount: Int = Self.singleCount, isThere: Bool = false, at server: Server, in directory: String
    ) async throws -> (Crowd, rate: Double?) {
        let file = "\(directory)/crowd-\(count).json"
        if let known = FileManager.default.contents(atPath: file) {
            return (Crowd(count: count, singles: try JSONDecoder().decode([String].self, from: known)), nil)
        }
        let requests = RegistrationRequests(
            path: "/v1/registration", port: server.port, credentials: server.identity.app
        ) { $0 >= firstSingle ? ["single"] : marks(of: $0, among: count) }
        let load = HTTPLoad(port: server.port, connections: 64, write: requests.write)
        let rate = isThere ? nil : try await load.run(0..<count)
        let uuids = Mutex([String](repeating: "", count: singleCount))
        let singles = HTTPLoad(port: server.port, connections: 8, write: requests.write) { number, reply in
            uuids.withLock { $0[number - firstSingle] = reply.string("device_uuid") ?? "" }
        }
        _ = try await singles.run(firstSingle..<firstSingle + singleCount)
        let crowd = Crowd(count: count, singles: uuids.withLock { $0 })
        try JSONEncoder().encode(crowd.singles).write(to: URL(fileURLWithPath: file))
        return (crowd, rate)
    }

    static func marks(of number: Int, among count: Int) -> [String] {
        var marks = [Part.all.rawValue]
        if number < count / 10 { marks.append(Part.some.rawValue) }
        if number < count / 100 { marks.append(Part.few.rawValue) }
        return marks
    }
}
