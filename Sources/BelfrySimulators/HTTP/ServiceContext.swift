/// The surroundings of a service while it reads one request: the time, and the script's answers for devices.
package struct ServiceContext {
    /// Time since 1970.
    package let now: Duration
    /// Whether the ledger keeps what devices read.
    package let keepsPayloads: Bool
    let compiled: CompiledServiceScript
    let occasion: ArmedServiceFault.Occasion
    private(set) var effects = Effects()
    /// Whether a fault that names no devices has decided the request.
    private var isDecided = false

    /// The script's effects on the request other than its answer.
    struct Effects {
        var answer: ScriptedAnswer?
        /// The answer of all later requests of the connection.
        var sticky: ScriptedAnswer?
        var delay: Int64 = 0
        var ending: Ending?
        var goAway: ServiceFault.GoAway?
        var maxStreams: UInt32?
    }

    /// How a request ends without its answer.
    struct Ending: Equatable {
        enum Kind: Equatable { case hang, stall, silence, reset(code: UInt32), close, loseAnswers(Int) }
        var kind: Kind
        var told: Bool
    }

    init(
        now: Duration, keepsPayloads: Bool = false, compiled: CompiledServiceScript = CompiledServiceScript(),
        occasion: ArmedServiceFault.Occasion = .init(connection: 1), insteadOfScript lasting: Effects? = nil
    ) {
        self.now = now
        self.keepsPayloads = keepsPayloads
        self.compiled = compiled
        self.occasion = occasion
        if let lasting {
            effects = lasting
            isDecided = true
            return
        }
        for armed in compiled.requestFaults where armed.matches(occasion) {
            isDecided = take(armed.fault.then)
            if isDecided { break }
        }
    }

    var seconds: Int64 { now.components.seconds }

    /// The script's answer for a device, if it has one. Called once for each device of a request.
    mutating func scripted(for token: String) -> ScriptedAnswer? {
        guard compiled.namesTokens else { return nil }
        var token = token
        return token.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            return matchedAnswer(bytes) ?? compiled.verdict(for: bytes)
        }
    }

    /// The answer of the faults that name this device. Called once for each device of a request.
    mutating func matchedAnswer(_ token: UnsafeRawBufferPointer) -> ScriptedAnswer? {
        guard !isDecided else { return effects.answer }
        for armed in compiled.tokenFaults where armed.matches(occasion, token: token) {
            if case .answer(let answer) = armed.fault.then {
                if answer.sticky == true { effects.sticky = answer }
                return answer
            }
            if take(armed.fault.then) { break }
        }
        return nil
    }

    /// Whether later rules are ignored.
    private mutating func take(_ then: ServiceFault.Then) -> Bool {
        switch then {
        case .answer(let answer):
            effects.answer = answer
            if answer.sticky == true { effects.sticky = answer }
        case .delay(let milliseconds):
            effects.delay += Int64(milliseconds)
            return false
        case .goAway(let goAway):
            effects.goAway = goAway
            return false
        case .maxStreams(let streams):
            effects.maxStreams = streams
            return false
        case .hang(let told): effects.ending = Ending(kind: .hang, told: told ?? true)
        case .stall(let told): effects.ending = Ending(kind: .stall, told: told ?? true)
        case .reset(let code, let told): effects.ending = Ending(kind: .reset(code: code ?? 7), told: told ?? false)
        case .silence(let told): effects.ending = Ending(kind: .silence, told: told ?? true)
        case .loseAnswers(let count): effects.ending = Ending(kind: .loseAnswers(count), told: true)
        case .close(let told): effects.ending = Ending(kind: .close, told: told ?? false)
        case .refuseHandshake: return false
        }
        return true
    }
}
