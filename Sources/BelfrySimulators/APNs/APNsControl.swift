import FoundationEssentials

/// The control port of an APNs simulator: see `docs/Simulators.md`.
struct APNsControl: Sendable {
    private let simulator: APNsSimulator

    init(_ simulator: APNsSimulator) {
        self.simulator = simulator
    }

    var routes: ControlRoutes {
        { request in
            do { return try await answer(request) } catch let error as ControlError { return error.answer } catch {
                return ControlError(status: 500, message: "\(error)").answer
            }
        }
    }

    private func answer(_ request: ControlRequest) async throws -> ControlAnswer {
        switch (request.method, request.path.first) {
        case ("GET", "health"): return try .json(["status": "ok"])
        case (_, "script"): return try await script(request)
        case (_, "ledger"): return try ledger(request)
        case ("POST", "connections"): return try await connections(request)
        case ("PUT", "listener"):
            try await listen(try StrictJSON.decode(Listener.self, from: request.body).open)
            return .empty
        default: throw ControlError(status: 404, message: "no such page")
        }
    }

    private struct Listener: Codable {
        var open: Bool
    }

    private func listen(_ open: Bool) async throws {
        if open { try await simulator.resumeListening() } else { try await simulator.stopListening() }
    }

    private func connections(_ request: ControlRequest) async throws -> ControlAnswer {
        try await simulator.act(try StrictJSON.decode(APNsFault.Then.self, from: request.body))
        return .empty
    }
}

// MARK: - Script

extension APNsControl {
    private func script(_ request: ControlRequest) async throws -> ControlAnswer {
        let book = simulator.script
        switch (request.method, Array(request.path.dropFirst())) {
        case ("GET", []): return try .json(book.script)
        case ("GET", ["happened"]): return try .json(book.timesHappened)
        case ("PUT", []):
            let script = try StrictJSON.decode(APNsScript.self, from: request.body)
            try refuse(script.complaint())
            book.set(script)
        case ("POST", ["faults"]):
            let fault = try StrictJSON.decode(APNsFault.self, from: request.body)
            try refuse(fault.complaint())
            book.add(fault)
        case ("POST", ["verdicts"]):
            let verdicts = try StrictJSON.decode([String: APNsVerdict].self, from: request.body)
            try refuse(APNsScript(verdicts: verdicts).complaint())
            book.answer(verdicts)
        case ("DELETE", []):
            book.clear()
            try await simulator.resumeListening()
        default: throw ControlError(status: 404, message: "no such page")
        }
        return .empty
    }

    private func refuse(_ complaint: (field: String, message: String)?) throws {
        guard let complaint else { return }
        throw ControlError(status: 400, field: complaint.field, message: complaint.message)
    }
}

// MARK: - Ledger

extension APNsControl {
    private func ledger(_ request: ControlRequest) throws -> ControlAnswer {
        let ledger = simulator.ledger
        switch (request.method, Array(request.path.dropFirst())) {
        case ("GET", []): return try .json(ledger.totals())
        case ("GET", ["tokens"]): return try .json(ledger.tokens(after: try after(request), limit: try limit(request)))
        case ("GET", ["duplicates"]):
            return try .json(ledger.duplicates(after: try after(request), limit: try limit(request)))
        case ("GET", let path) where path.count == 2 && path[0] == "tokens":
            guard let token = Hex.decode(path[1]) else {
                throw ControlError(status: 400, field: "token", message: "is not hex")
            }
            guard let known = ledger.token(token) else { throw ControlError(status: 404, message: "no such token") }
            return try .json(known)
        case ("DELETE", []):
            ledger.reset()
            return .empty
        default: throw ControlError(status: 404, message: "no such page")
        }
    }

    private func after(_ request: ControlRequest) throws -> [UInt8]? {
        guard let text = request.query["after"], !text.isEmpty else { return nil }
        guard let token = Hex.decode(text) else {
            throw ControlError(status: 400, field: "after", message: "is not a token in hex")
        }
        return token
    }

    private func limit(_ request: ControlRequest) throws -> Int {
        guard let text = request.query["limit"] else { return 1000 }
        guard let limit = Int(text), (1...100_000).contains(limit) else {
            throw ControlError(status: 400, field: "limit", message: "is not a number from 1 to 100000")
        }
        return limit
    }
}
