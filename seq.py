from mnemic import Memory
m=Memory(":memory:",user="ana",embedder="hashing"); b=m.scoped(user="bob")
m.remember("one",id="1"); [b.remember(f"bob {i} thing") for i in range(37)]; m.remember("two",id="2")
print([e.sequence for e in m.log()], m.verify().checks, m.stats())
v=m.scoped(user="bob2"); 
mm=Memory(":memory:",user="x",embedder="hashing",secrets="allow"); mm.scoped(user="bob").remember("my key ghp_"+"a1B2c3D4e5"*4,id="bobs-diary")
mm._engine.secrets.__class__
print(mm.verify().findings)
