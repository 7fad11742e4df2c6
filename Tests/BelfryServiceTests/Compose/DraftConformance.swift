import BelfryService
import BelfryTesting
import Testing

@Suite struct DraftConformance {
    @Test(arguments: Engine.allCases)
    func `a draft is kept a week per person and place`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app) = (fixture.store, fixture.application.key)
            let ann = try await store.create(try NewPerson.sample("ann@a.example"))
            let bob = try await store.create(try NewPerson.sample("bob@a.example"))
            let place = ComposeDraft.Place(ann.key, app)
            try await store.keepDraft("body=Hello", at: place)
            try await store.keepDraft("body=Hello+you", at: place)
            try await store.keepDraft("body=Later", at: ComposeDraft.Place(ann.key, app, Key(7)))
            #expect(try await store.draft(at: place)?.text == "body=Hello+you")
            #expect(try await store.draft(at: ComposeDraft.Place(ann.key, app, Key(7)))?.text == "body=Later")
            #expect(try await store.draft(at: ComposeDraft.Place(bob.key, app)) == nil)
            #expect(try await store.deleteDraft(at: ComposeDraft.Place(ann.key, app, Key(7))))
            #expect(try await store.deleteDraft(at: ComposeDraft.Place(ann.key, app, Key(7))) == false)
            fixture.clock.advance(by: ComposeDraft.lifetime + .seconds(1))
            #expect(try await store.draft(at: place) == nil)
            let before = fixture.clock.now + (.zero - ComposeDraft.lifetime)
            #expect(try await store.deleteExpired(.drafts, before: before).rows == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `drafts of new pushes coexist, newest first`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app) = (fixture.store, fixture.application.key)
            let ann = try await store.create(try NewPerson.sample("ann@a.example"))
            let bob = try await store.create(try NewPerson.sample("bob@a.example"))
            let start = fixture.clock.now
            for number in [7, 0, Int64.max] {
                try await store.keepDraft("\(number)", at: ComposeDraft.Place(ann.key, app, number: number))
                fixture.clock.advance(by: .seconds(1))
            }
            try await store.keepDraft("edit", at: ComposeDraft.Place(ann.key, app, Key(7)))
            #expect(try await store.draft(at: ComposeDraft.Place(ann.key, app, number: 7))?.text == "7")
            #expect(try await store.drafts(of: ann.key, in: app).map(\.number) == [.max, 0, 7])
            #expect(try await store.drafts(of: ann.key, in: app).last?.savedAt == start)
            #expect(try await store.drafts(of: bob.key, in: app).isEmpty)
            #expect(try await store.deleteDraft(at: ComposeDraft.Place(ann.key, app, number: 0)))
            #expect(try await store.drafts(of: ann.key, in: app).map(\.number) == [.max, 7])
            fixture.clock.advance(by: ComposeDraft.lifetime - .seconds(2))
            #expect(try await store.drafts(of: ann.key, in: app).map(\.number) == [.max])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a person's oldest draft and deleted applications' drafts go`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app) = (fixture.store, fixture.application)
            let ann = try await store.create(try NewPerson.sample("ann@a.example"))
            for number in 1...Int64(ComposeDraft.perPersonMax + 1) {
                try await store.keepDraft("\(number)", at: ComposeDraft.Place(ann.key, app.key, Key(number)))
                fixture.clock.advance(by: .seconds(1))
            }
            #expect(try await store.draft(at: ComposeDraft.Place(ann.key, app.key, Key(1))) == nil)
            #expect(try await store.draft(at: ComposeDraft.Place(ann.key, app.key, Key(2)))?.text == "2")
            try await store.delete(app.key, force: true)
            #expect(try await store.draft(at: ComposeDraft.Place(ann.key, app.key, Key(2))) == nil)
        }
    }
}
