import Foundation
import Testing

@testable import BelfryService

@Suite struct ImportRulesTests {
    private static func party(_ key: Int64, _ stage: ImportMark.State?, uuid: Bool = false) -> ImportRules.Party {
        let mark = stage.map {
            ImportMark(uuid: uuid ? UUID(words: 1, UInt64(key)) : nil, importedAt: .zero, stage: $0)
        }
        return ImportRules.Party(key: Key(key), mark: mark)
    }

    @Test func `an unknown device is made`() {
        #expect(ImportRules(named: nil, holder: nil) == .create)
    }

    @Test func `the list sets a device whose app never registered`() {
        let unseen = Self.party(1, .unseen)
        #expect(ImportRules(named: unseen, holder: nil) == .update(Key(1), evicted: nil))
        #expect(ImportRules(named: nil, holder: unseen) == .update(Key(1), evicted: nil))
        #expect(ImportRules(named: unseen, holder: unseen) == .update(Key(1), evicted: nil))
        #expect(ImportRules(named: unseen, holder: Self.party(2, .unseen)) == .update(Key(1), evicted: Key(2)))
    }

    @Test(arguments: [nil, ImportMark.State.seen, .renamed])
    func `a device registered by its app is left alone`(stage: ImportMark.State?) {
        let seen = Self.party(1, stage, uuid: stage != nil)
        #expect(ImportRules(named: seen, holder: nil) == .keep)
        #expect(ImportRules(named: seen, holder: seen) == .keep)
        #expect(ImportRules(named: seen, holder: Self.party(2, .unseen)) == .keep)
        #expect(ImportRules(named: Self.party(2, .unseen), holder: seen) == .keep)
    }

    @Test func `an app registered before its import gets its UUID once`() {
        #expect(ImportRules(named: nil, holder: Self.party(1, nil)) == .name(Key(1)))
        #expect(ImportRules(named: nil, holder: Self.party(1, .seen, uuid: true)) == .keep)
    }

    @Test func `a device keeps its old UUID until its app switches`() {
        let (own, old) = (UUID(words: 1, 1), UUID(words: 2, 2))
        var mark = ImportMark(uuid: old, importedAt: .zero)
        #expect(mark.name(own: own) == old)
        mark.noteRegistration(isByOwnUUID: false)
        #expect(mark.stage == .seen && mark.name(own: own) == old)
        mark.noteRegistration(isByOwnUUID: true)
        #expect(mark.stage == .renamed && mark.name(own: own) == own)
        mark.noteRegistration(isByOwnUUID: false)
        #expect(mark.stage == .renamed)
        #expect(ImportMark(uuid: nil, importedAt: .zero).name(own: own) == own)
    }
}
