import Foundation

/// Looks devices up, one request after the other: as a back end of PCF's API, or as the admin API's list.
struct SearchClient: Sendable {
    enum Route: String, Sendable, CaseIterable {
        case pcf = "/v2/registrations"
        case admin = "/admin/v1/…/devices"
    }

    private let route: Route
    private let path: String
    private let caller: HTTPCaller.Caller
    private let http: HTTPCaller

    init(server: Server, route: Route) throws {
        self.route = route
        http = HTTPCaller(port: server.port)
        switch route {
        case .pcf: (path, caller) = (route.rawValue, .application(server.identity.sender))
        case .admin:
            path = "/admin/v1/apps/\(server.identity.app_uuid)/devices"
            caller = .admin(key: try server.adminKey)
        }
    }

    struct Answer: Sendable {
        let milliseconds: Double
        let status: Int
        let isPartial: Bool
        let isEmpty: Bool
    }

    func answer(_ query: String) async throws -> Answer {
        let start = WallClock.now
        let reply = try await http.get("\(path)?\(query)", as: caller)
        let text = reply.text
        return Answer(
            milliseconds: reply.at - start, status: reply.status, isPartial: text.contains(#""partial":true"#),
            isEmpty: text.contains(route == .pcf ? #""totalRegistrations":0"# : #""devices":[]"#))
    }

    /// So many requests, or as many as are answered within a quarter of a minute.
    ///
    /// - Parameter isFound: whether an answer without devices is a fault.
    func answers(_ count: Int, isFound: Bool = true, _ query: (Int) -> String) async throws -> [Answer] {
        let end = WallClock.now + 15_000
        var answers: [Answer] = []
        while answers.count < count, answers.isEmpty || WallClock.now < end {
            let query = query(answers.count)
            let answer = try await answer(query)
            answers.append(answer)
            guard !isFound || !answer.isEmpty || answer.isPartial || answer.status != 200 else {
                throw BenchmarkFault("\(query) finds no device")
            }
        }
        return answers
    }
}
