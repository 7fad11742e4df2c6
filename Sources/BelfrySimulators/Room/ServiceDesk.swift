/// What a service may ask while it reads one request: the time, and what the script says of a device.
package struct ServiceDesk {
    /// Time since 1970.
    package let now: Duration
    /// Whether the ledger keeps what devices read.
    package let keepsPayloads: Bool
    let playbook: ServicePlaybook
    let occasion: ArmedServiceFault.Occasion
    private(set) var effects = Effects()

    /// What the script does to the request besides the words of its answer.
    struct Effects {
        var answer: ScriptedAnswer?
        var delay: Int64 = 0
        var ending: Ending?
        var goAway: ServiceFault.GoAway?
        var maxStreams: UInt32?
    }

    /// How a request ends without its answer.
    struct Ending: Equatable {
        enum Kind: Equatable { case hang, stall, reset(code: UInt32), close }
        var kind: Kind
        var told: Bool
    }

    init(
        now: Duration, keepsPayloads: Bool = false, playbook: ServicePlaybook = ServicePlaybook(),
        occasion: ArmedServiceFault.Occasion = .init(connection: 1)
    ) {
        self.now = now
        self.keepsPayloads = keepsPayloads
        self.playbook = playbook
        self.occasion = occasion
        for armed in playbook.requestFaults where armed.strikes(occasion) {
            if take(armed.fault.then) { break }
        }
    }

    var seconds: Int64 { now.components.seconds }

    /// The script's answer for a device, if it has one. To be asked once for each device of a request.
    mutating func scripted(for token: String) -> ScriptedAnswer? {
        for armed in playbook.tokenFaults where armed.strikes(occasion, token: token) {
            if case .answer(let answer) = armed.fault.then { return answer }
            if take(armed.fault.then) { break }
        }
        return playbook.verdicts.isEmpty ? nil : playbook.verdicts[token]
    }

    /// Whether nothing behind this is to be looked at.
    private mutating func take(_ then: ServiceFault.Then) -> Bool {
        switch then {
        case .answer(let answer): effects.answer = answer
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
        case .close(let told): effects.ending = Ending(kind: .close, told: told ?? false)
        case .refuseHandshake: return false
        }
        return true
    }
}
