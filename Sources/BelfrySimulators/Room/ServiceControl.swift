/// The control port of a simulated provider: see `docs/Simulators.md`.
struct ServiceControl<S: SimulatedService>: Sendable {
    private let simulator: ServiceSimulator<S>

    init(_ simulator: ServiceSimulator<S>) {
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
        case ("POST", "connections"):
            let order = try StrictJSON.decode(Connections.self, from: request.body)
            try await simulator.goAway(order.goAway)
            return .empty
        case ("PUT", "listener"):
            if try StrictJSON.decode(Listener.self, from: request.body).open {
                try await simulator.resumeListening()
            } else {
                try await simulator.stopListening()
            }
            return .empty
        default: throw ControlError(status: 404, message: "no such page")
        }
    }

    private struct Listener: Codable {
        var open: Bool
    }

    private struct Connections: Codable {
        var goAway: ServiceFault.GoAway
    }
}

// MARK: - Script

extension ServiceControl {
    private func script(_ request: ControlRequest) async throws -> ControlAnswer {
        let book = simulator.script
        switch (request.method, Array(request.path.dropFirst())) {
        case ("GET", []): return try .json(book.script)
        case ("GET", ["happened"]): return try .json(book.timesHappened)
        case ("PUT", []):
            let script = try StrictJSON.decode(ServiceScript.self, from: request.body)
            try refuse(script.complaint(isKnown))
            book.set(script)
        case ("POST", ["faults"]):
            let fault = try StrictJSON.decode(ServiceFault.self, from: request.body)
            try refuse(fault.complaint(isKnown))
            book.add(fault)
        case ("POST", ["verdicts"]):
            let verdicts = try StrictJSON.decode([String: ScriptedAnswer].self, from: request.body)
            try refuse(ServiceScript(verdicts: verdicts).complaint(isKnown))
            book.answer(verdicts)
        case ("DELETE", []):
            book.clear()
            try await simulator.resumeListening()
        default: throw ControlError(status: 404, message: "no such page")
        }
        return .empty
    }

    private func isKnown(_ reason: String) -> Bool { simulator.service.answer(for: reason) != nil }

    private func refuse(_ complaint: (field: String, message: String)?) throws {
        guard let complaint else { return }
        throw ControlError(status: 400, field: complaint.field, message: complaint.message)
    }
}

// MARK: - Ledger

extension ServiceControl {
    private func ledger(_ request: ControlRequest) throws -> ControlAnswer {
        let ledger = simulator.ledger
        let after = request.query["after"].flatMap { $0.isEmpty ? nil : text($0) }.map { Array($0.utf8) }
        switch (request.method, Array(request.path.dropFirst())) {
        case ("GET", []): return try .json(ledger.totals())
        case ("GET", ["tokens"]): return try .json(ledger.tokens(after: after, limit: try limit(request)))
        case ("GET", ["duplicates"]): return try .json(ledger.duplicates(after: after, limit: try limit(request)))
        case ("GET", let path) where path.count == 2 && path[0] == "tokens":
            guard let known = ledger.token(Array(text(path[1]).utf8)) else {
                throw ControlError(status: 404, message: "no such token")
            }
            return try .json(known)
        case ("DELETE", []):
            ledger.reset()
            return .empty
        default: throw ControlError(status: 404, message: "no such page")
        }
    }

    private func text(_ encoded: String) -> String { FormText.decode(Substring(encoded), plusIsSpace: false) }

    private func limit(_ request: ControlRequest) throws -> Int {
        guard let text = request.query["limit"] else { return 1000 }
        guard let limit = Int(text), (1...100_000).contains(limit) else {
            throw ControlError(status: 400, field: "limit", message: "is not a number from 1 to 100000")
        }
        return limit
    }
}
