/// The control port of a simulated provider: see `docs/Simulators.md`.
struct ServiceControl<S: SimulatedProvider>: Sendable {
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
            try await simulator.act(try StrictJSON.decode(ServiceFault.Then.self, from: request.body))
            return .empty
        case ("PUT", "listener"):
            if try StrictJSON.decode(Listener.self, from: request.body).open {
                try await simulator.resumeListening()
            } else {
                try await simulator.stopListening()
            }
            return .empty
        default: throw ControlError(status: 404, message: "no such path")
        }
    }

    private struct Listener: Codable {
        var open: Bool
    }
}

// MARK: - Script

extension ServiceControl {
    private func script(_ request: ControlRequest) async throws -> ControlAnswer {
        let currentScript = simulator.script
        switch (request.method, Array(request.path.dropFirst())) {
        case ("GET", []): return try .json(currentScript.script)
        case ("GET", ["happened"]): return try .json(currentScript.timesHappened)
        case ("PUT", []):
            let script = try StrictJSON.decode(ServiceScript.self, from: request.body)
            try refuse(script.complaint(grammar))
            currentScript.set(script)
        case ("POST", ["faults"]):
            let fault = try StrictJSON.decode(ServiceFault.self, from: request.body)
            try refuse(fault.complaint(grammar))
            currentScript.add(fault)
        case ("POST", ["verdicts"]):
            let verdicts = try StrictJSON.decode([String: ScriptedAnswer].self, from: request.body)
            try refuse(ServiceScript(verdicts: verdicts).complaint(grammar))
            currentScript.answer(verdicts)
        case ("DELETE", []):
            currentScript.clear()
            try await simulator.resumeListening()
        default: throw ControlError(status: 404, message: "no such path")
        }
        return .empty
    }

    private var grammar: ScriptGrammar {
        ScriptGrammar(tokenText: S.tokenText) { simulator.service.answer(for: $0) != nil }
    }

    private func refuse(_ complaint: (field: String, message: String)?) throws {
        guard let complaint else { return }
        throw ControlError(status: 400, field: complaint.field, message: complaint.message)
    }
}

// MARK: - Ledger

extension ServiceControl {
    private func ledger(_ request: ControlRequest) throws -> ControlAnswer {
        let ledger = simulator.ledger
        let after = try request.query["after"].flatMap { $0.isEmpty ? nil : try token($0, of: "after") }
        switch (request.method, Array(request.path.dropFirst())) {
        case ("GET", []): return try .json(ledger.totals())
        case ("GET", ["tokens"]): return try .json(ledger.tokens(after: after, limit: try limit(request)))
        case ("GET", ["duplicates"]): return try .json(ledger.duplicates(after: after, limit: try limit(request)))
        case ("GET", let path) where path.count == 2 && path[0] == "tokens":
            guard let known = ledger.token(try token(path[1], of: "token")) else {
                throw ControlError(status: 404, message: "no such token")
            }
            return try .json(known)
        case ("DELETE", []):
            ledger.reset()
            return .empty
        default: throw ControlError(status: 404, message: "no such path")
        }
    }

    private func token(_ encoded: String, of field: String) throws -> [UInt8] {
        let text = FormText.decode(Substring(encoded), plusIsSpace: false)
        guard let token = S.tokenText.bytes(of: text) else {
            throw ControlError(status: 400, field: field, message: "is not a token in hex")
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
